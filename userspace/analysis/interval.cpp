#include "userspace/analysis/interval.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace fairswitch {
namespace {

constexpr size_t kMinPairsForInterval = 20;
constexpr size_t kMinExceedances = 50;
constexpr size_t kMinExceedanceBlocks = 10;
constexpr double kTail = 0.025;
constexpr double kReach = 0.9;  // in the logarithm of the odds: 0.41 to 2.5 times
constexpr double kCliffRatio = 5;

double student(size_t pairs) {
    return quantile(boost::math::students_t(static_cast<double>(pairs - 1)), 1 - kTail);
}

Interval in_percent(double low, double high) {
    return {100 * std::expm1(low), 100 * std::expm1(high)};
}

double counted_above(const std::vector<int64_t>& block, int64_t limit) {
    return static_cast<double>(
        std::count_if(block.begin(), block.end(), [&](int64_t ns) { return ns > limit; }));
}

bool enough(const std::vector<double>& exceedances) {
    const auto blocks = static_cast<size_t>(std::count_if(exceedances.begin(), exceedances.end(),
                                                          [](double count) { return count > 0; }));
    return blocks >= kMinExceedanceBlocks &&
           std::accumulate(exceedances.begin(), exceedances.end(), 0.0) >= kMinExceedances;
}

// A value that is a sum over samples divided by their number: an average, a share.
struct Ratio {
    std::vector<double> parts;  // per block
    std::vector<double> sizes;
    double part = 0, size = 0;

    void add(double block_part, size_t samples) {
        parts.push_back(block_part);
        sizes.push_back(static_cast<double>(samples));
        part += block_part;
        size += static_cast<double>(samples);
    }
    double log_value() const { return std::log(part / size); }
    double log_without(size_t b) const { return std::log((part - parts[b]) / (size - sizes[b])); }
};

std::optional<Interval> interval_of_ratios(const Ratio& first, const Ratio& second) {
    const size_t n = first.parts.size();
    std::vector<double> left_out(n);
    for (size_t i = 0; i < n; ++i) left_out[i] = second.log_without(i) - first.log_without(i);
    const double mean = std::accumulate(left_out.begin(), left_out.end(), 0.0) / n;
    double squares = 0;
    for (double value : left_out) squares += (value - mean) * (value - mean);
    const double reach = student(n) * std::sqrt(squares * (n - 1) / n);
    const double difference = second.log_value() - first.log_value();
    if (!std::isfinite(difference) || !std::isfinite(reach)) return std::nullopt;
    return in_percent(difference - reach, difference + reach);
}

double block_sum(const std::vector<int64_t>& block, std::optional<int64_t> threshold) {
    if (threshold) return counted_above(block, *threshold);
    return std::accumulate(block.begin(), block.end(), 0.0);
}

std::optional<Interval> ratio_interval(const std::vector<BlockPair>& pairs, Metric metric) {
    const auto threshold = metric_threshold_ns(metric);
    Ratio first, second;
    for (const BlockPair& pair : pairs) {
        first.add(block_sum(pair.first, threshold), pair.first.size());
        second.add(block_sum(pair.second, threshold), pair.second.size());
    }
    if (threshold && (!enough(first.parts) || !enough(second.parts))) return std::nullopt;
    return interval_of_ratios(first, second);
}

// One arm's quantile with Woodruff's interval.
class ArmQuantile {
  public:
    ArmQuantile(const std::vector<BlockPair>& pairs, std::vector<int64_t> BlockPair::*side,
                double q)
        : share_(1 - q) {
        for (const BlockPair& pair : pairs)
            sorted_.insert(sorted_.end(), (pair.*side).begin(), (pair.*side).end());
        if (sorted_.empty()) return;
        std::sort(sorted_.begin(), sorted_.end());
        value = at(share_);
        for (const BlockPair& pair : pairs)
            counts.push_back(counted_above(pair.*side, static_cast<int64_t>(value) - 1));
        set_error(pairs, side);
    }

    bool usable() const { return !sorted_.empty() && value > 0 && enough(counts); }
    double low(double t) const { return beyond(t * error_); }
    double high(double t) const { return beyond(-t * error_); }
    bool on_cliff() const { return beyond(-kReach) > kCliffRatio * beyond(kReach); }
    bool unsure(double t) const { return t * error_ > kReach; }

    double value = 0;
    std::vector<double> counts;      // at or above the quantile, per block
    std::vector<double> deviations;  // of the counts from the arm's share

  private:
    // Where the odds of being at or above are those of the quantile, times exp(shift).
    double beyond(double shift) const {
        const double odds = share_ / (1 - share_) * std::exp(shift);
        return at(odds / (1 + odds));
    }

    double at(double share) const {
        const double q = std::clamp(1 - share, 0.0, 1.0);
        return static_cast<double>(sorted_[quantile_index(sorted_.size(), q)]);
    }

    void set_error(const std::vector<BlockPair>& pairs, std::vector<int64_t> BlockPair::*side) {
        const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
        const double share = total / static_cast<double>(sorted_.size());
        double squares = 0;
        for (size_t b = 0; b < counts.size(); ++b) {
            deviations.push_back(counts[b] - share * static_cast<double>((pairs[b].*side).size()));
            squares += deviations[b] * deviations[b];
        }
        const auto n = static_cast<double>(counts.size());
        error_ = std::sqrt(squares * n / (n - 1)) / total / (1 - share);
    }

    double share_;
    double error_ = 0;  // of the logarithm of the share's odds
    std::vector<int64_t> sorted_;
};

// Less its own standard error: correlation that is only chance would make the interval too narrow.
double sure_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double size = std::sqrt(product(a, a) * product(b, b));
    if (size <= 0) return 0;
    const double error = 1 / std::sqrt(static_cast<double>(a.size()));
    return std::clamp(product(a, b) / size - error, 0.0, 1.0);
}

std::optional<Interval> quantile_interval(const std::vector<BlockPair>& pairs, double q) {
    const ArmQuantile first(pairs, &BlockPair::first, q), second(pairs, &BlockPair::second, q);
    const double t = student(pairs.size());
    if (!first.usable() || !second.usable() || first.on_cliff() || second.on_cliff() ||
        first.unsure(t) || second.unsure(t))
        return std::nullopt;
    const double r = sure_correlation(first.deviations, second.deviations);
    auto joined = [&](double a, double b) { return std::sqrt(a * a + b * b - 2 * r * a * b); };
    const double difference = std::log(second.value / first.value);
    const double down =
        joined(std::log(second.value / second.low(t)), std::log(first.high(t) / first.value));
    const double up =
        joined(std::log(second.high(t) / second.value), std::log(first.value / first.low(t)));
    return in_percent(difference - down, difference + up);
}

}  // namespace

std::optional<Interval> difference_interval(const std::vector<BlockPair>& pairs, Metric metric) {
    if (metric == Metric::kMaximum || pairs.size() < kMinPairsForInterval) return std::nullopt;
    if (auto q = metric_quantile(metric)) return quantile_interval(pairs, *q);
    return ratio_interval(pairs, metric);
}

}  // namespace fairswitch
