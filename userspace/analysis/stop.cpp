#include "userspace/analysis/stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "userspace/analysis/interval.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

size_t look_after(size_t look) { return look + std::max<size_t>(1, look / 2); }

bool row_is_narrow(const std::vector<BlockPair>& pairs, const NarrowEnough& narrow) {
    const auto interval = difference_interval(pairs, narrow.metric);
    return interval && interval->high - interval->low <= narrow.percent;
}

}  // namespace

double alpha_spent(Spending spending, double alpha, double fraction) {
    if (fraction <= 0) return 0;
    if (fraction >= 1) return alpha;
    if (spending == Spending::kPocock)
        return alpha * std::log1p((boost::math::constants::e<double>() - 1) * fraction);
    const boost::math::normal normal;
    const double z = quantile(complement(normal, alpha / 2));
    return 2 * cdf(complement(normal, z / std::sqrt(fraction)));
}

StopRule::StopRule(const StopOptions& options)
    : options_(options), next_look_(std::max<size_t>(1, options.first_look)) {
    if (options.rounds == 0) fail(Exit::kUsage, "a run of 0 rounds measures nothing");
    if (options.seconds && *options.seconds <= 0)
        fail(Exit::kUsage, "a time budget of {} s is none; give seconds above 0", *options.seconds);
    if (!options.narrow) return;
    if (options.narrow->percent <= 0)
        fail(Exit::kUsage, "no interval is narrower than {} %; give a width above 0",
             options.narrow->percent);
    if (options.narrow->metric == Metric::kMaximum)
        fail(Exit::kUsage, "the maximum has no interval that could get narrow; name a quantile");
}

double StopRule::fraction(const RunProgress& progress) const {
    double done = static_cast<double>(progress.rounds) / static_cast<double>(options_.rounds);
    if (options_.seconds) done = std::max(done, progress.seconds / *options_.seconds);
    return std::min(1.0, done);
}

double StopRule::spend_up_to(double fraction) {
    const double total = alpha_spent(options_.spending, options_.alpha, fraction);
    const double now = std::max(0.0, total - spent_);
    spent_ = std::max(spent_, total);
    return now;
}

StopAnswer StopRule::end(const std::string& reason) { return {true, reason, spend_up_to(1)}; }

bool StopRule::narrow_enough(const RunProgress& progress) const {
    if (!options_.narrow || !progress.compared || progress.compared->empty()) return false;
    return std::all_of(progress.compared->begin(), progress.compared->end(),
                       [&](const std::vector<BlockPair>& pairs) {
                           return row_is_narrow(pairs, *options_.narrow);
                       });
}

// A round that would go past the budget isn't begun.
bool StopRule::time_is_over(const RunProgress& progress) const {
    if (!options_.seconds || progress.rounds == 0) return false;
    const double round = progress.seconds / static_cast<double>(progress.rounds);
    return progress.seconds + round > *options_.seconds;
}

StopAnswer StopRule::after_round(const RunProgress& progress) {
    if (progress.rounds >= options_.rounds)
        return end(fmt::format("all {} rounds were run", options_.rounds));
    if (time_is_over(progress))
        return end(fmt::format("the time budget of {:g} s is used up", *options_.seconds));
    if (!has_looks() || progress.rounds < next_look_) return {};
    while (next_look_ <= progress.rounds) next_look_ = look_after(next_look_);
    StopAnswer answer{false, "", spend_up_to(fraction(progress))};
    if (!narrow_enough(progress)) return answer;
    answer.stop = true;
    answer.reason = fmt::format("the interval of {} is at most {:g} % wide",
                                metric_name(options_.narrow->metric), options_.narrow->percent);
    return answer;
}

StopAnswer StopRule::interrupted(const RunProgress& progress) {
    const std::string reason = "interrupted";
    if (!options_.watched) return end(reason);
    return {true, reason, spend_up_to(fraction(progress))};
}

}  // namespace fairswitch
