#include "userspace/analysis/interim.h"

#include <fmt/format.h>

#include "userspace/analysis/cell_text.h"

namespace fairswitch {
namespace {

// Fewer than the last table draws: the run waits for them.
constexpr size_t kFlips = 8192;
constexpr int kLabel = 27;
constexpr int kFirst = 12;
constexpr int kOther = 20;

std::string header(const InterimInput& input) {
    std::string line = std::string(kLabel, ' ');
    for (size_t i = 0; i < input.arms.size(); ++i) {
        const int width = i == 0 ? kFirst : kOther;
        line += fmt::format("{:>{}}", cut(input.arms[i], static_cast<size_t>(width) - 1), width);
    }
    return line + "\n";
}

}  // namespace

std::string interim_text(const InterimInput& input) {
    std::vector<std::vector<Comparison>> family;
    for (const auto& pairs : input.compared) family.push_back(compare(pairs, kFlips));
    if (family.empty()) return "";
    const size_t rounds = input.compared.front().size();
    judge(family, rounds, input.alpha);
    std::string out = fmt::format(
        "after {} of {} rounds, about {:.0f} s left; from records alone, until switched in:\n",
        rounds, input.rounds_planned, input.seconds_left);
    out += header(input);
    for (size_t m = 0; m < all_metrics().size(); ++m) {
        const Metric metric = all_metrics()[m];
        out += fmt::format("{:<{}}{:>{}}", metric_label(metric), kLabel,
                           value_text(metric, family[0][m].first), kFirst);
        for (const auto& arm : family)
            out += fmt::format("{:>{}} {:>10}", value_text(metric, arm[m].second), kOther - 11,
                               difference_text(arm[m]));
        out.erase(out.find_last_not_of(' ') + 1);
        out += "\n";
    }
    return out + fmt::format(
                     "(~ not significant at the {:.2g} % that this table has of the run's 5 %)\n",
                     100 * input.alpha);
}

}  // namespace fairswitch
