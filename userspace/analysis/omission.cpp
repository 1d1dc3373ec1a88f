#include "userspace/analysis/omission.h"

#include <cstddef>

namespace fairswitch {
namespace {

// Moments of the grid strictly between two of its points.
int64_t moments_between(int64_t from_ns, int64_t to_ns, int64_t interval_ns) {
    return (to_ns - from_ns + interval_ns / 2) / interval_ns - 1;
}

}  // namespace

OmissionView with_omitted(const std::vector<Served>& served, int64_t interval_ns) {
    OmissionView view;
    for (std::size_t i = 0; i < served.size(); ++i) {
        const Served& now = served[i];
        if (now.sampled) view.latencies.push_back(now.ran_ns - now.expected_ns);
        if (i + 1 == served.size() || interval_ns <= 0) continue;
        const int64_t skipped =
            moments_between(now.expected_ns, served[i + 1].expected_ns, interval_ns);
        for (int64_t k = 1; k <= skipped; ++k) {
            const int64_t due_ns = now.expected_ns + k * interval_ns;
            if (!now.sampled || due_ns > now.ran_ns) {
                ++view.unplaced;
                continue;
            }
            view.latencies.push_back(now.ran_ns - due_ns);
            ++view.added;
        }
    }
    return view;
}

}  // namespace fairswitch
