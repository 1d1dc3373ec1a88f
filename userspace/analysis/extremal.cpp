#include "userspace/analysis/extremal.h"

#include <algorithm>

namespace fairswitch {
namespace {

struct Gaps {
    double n = 0, sum = 0, squares = 0;             // of T
    double minus_one = 0, minus_one_minus_two = 0;  // of T - 1, of (T - 1)(T - 2)
    double longest = 0;

    void add(double gap) {
        n += 1;
        sum += gap;
        squares += gap * gap;
        minus_one += gap - 1;
        minus_one_minus_two += (gap - 1) * (gap - 2);
        longest = std::max(longest, gap);
    }

    double theta() const {
        if (n == 0) return 1;
        if (longest <= 2) return std::min(1.0, 2 * sum * sum / (n * squares));
        return std::min(1.0, 2 * minus_one * minus_one / (n * minus_one_minus_two));
    }
};

}  // namespace

Clusters effective_clusters(const std::vector<const std::vector<int64_t>*>& blocks,
                            int64_t threshold_ns) {
    Gaps gaps;
    Clusters out;
    for (const std::vector<int64_t>* block : blocks) {
        size_t last = block->size();
        for (size_t i = 0; i < block->size(); ++i) {
            if ((*block)[i] <= threshold_ns) continue;
            ++out.exceedances;
            if (last != block->size()) gaps.add(static_cast<double>(i - last));
            last = i;
        }
    }
    if (out.exceedances)
        out.effective = std::max(1.0, gaps.theta() * static_cast<double>(out.exceedances));
    return out;
}

}  // namespace fairswitch
