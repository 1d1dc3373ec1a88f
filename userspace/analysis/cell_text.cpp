#include "userspace/analysis/cell_text.h"

#include <fmt/format.h>

#include <cmath>

namespace fairswitch {

std::string cut(const std::string& name, size_t width) {
    return name.size() <= width ? name : name.substr(0, width - 2) + "..";
}

std::string value_text(Metric metric, double value) {
    if (metric_is_share(metric)) return fmt::format("{:.3f}", 100 * value);
    return fmt::format("{:.{}f}", value / 1000, metric == Metric::kAverage ? 1 : 0);
}

std::string difference_text(const Comparison& comparison) {
    std::string percent = "n/a";
    if (comparison.percent) {
        const double shown = std::round(*comparison.percent);
        percent = fmt::format("{:+.0f} %", shown == 0 ? 0.0 : shown);
    }
    const char* mark = comparison.metric == Metric::kMaximum        ? "?"
                       : comparison.verdict == Verdict3::kDifferent ? " "
                       : comparison.verdict == Verdict3::kSame      ? "~"
                                                                    : "?";
    return fmt::format("({}){}", percent, mark);
}

}  // namespace fairswitch
