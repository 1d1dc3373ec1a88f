#include "userspace/analysis/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "userspace/analysis/interval.h"
#include "userspace/analysis/pooled.h"

namespace fairswitch {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kSeed = 0x66616972;

PooledBlocks pool(const std::vector<BlockPair>& pairs) {
    std::vector<const std::vector<int64_t>*> blocks;
    for (const BlockPair& pair : pairs) {
        blocks.push_back(&pair.first);
        blocks.push_back(&pair.second);
    }
    return PooledBlocks(blocks);
}

// Which blocks count as first arm and as second arm, pair by pair.
struct Labels {
    explicit Labels(size_t pairs) : first(2 * pairs), second(2 * pairs) {}

    void set(size_t pair, bool flipped) {
        first[2 * pair] = second[2 * pair + 1] = !flipped;
        first[2 * pair + 1] = second[2 * pair] = flipped;
    }

    std::vector<uint32_t> first, second;
};

double difference(const PooledBlocks& pooled, Metric metric, const Labels& labels) {
    return pooled.value(metric, labels.second) - pooled.value(metric, labels.first);
}

// p for each metric: one walk over the flips for all of them.
std::vector<double> flip_tests(const PooledBlocks& pooled, size_t pairs,
                               const std::vector<Metric>& metrics, size_t random_flips) {
    Labels labels(pairs);
    for (size_t i = 0; i < pairs; ++i) labels.set(i, false);
    std::vector<double> limit;
    for (Metric metric : metrics) {
        double observed = std::abs(difference(pooled, metric, labels));
        limit.push_back(observed * (1 - 1e-12));
    }
    const bool exact = pairs <= kExactPairs;
    const size_t flips = exact ? size_t{1} << pairs : random_flips;
    std::mt19937_64 random(kSeed);
    std::vector<size_t> reached(metrics.size());
    for (size_t flip = 0; flip < flips; ++flip) {
        for (size_t i = 0; i < pairs; ++i)
            labels.set(i, exact ? (flip >> i) & 1 : flip != 0 && (random() & 1));
        for (size_t m = 0; m < metrics.size(); ++m)
            reached[m] += std::abs(difference(pooled, metrics[m], labels)) >= limit[m];
    }
    std::vector<double> p;
    for (size_t count : reached) p.push_back(static_cast<double>(count) / flips);
    return p;
}

}  // namespace

const char* metric_label(Metric metric) {
    switch (metric) {
        case Metric::kAverage:
            return "Average           (us)";
        case Metric::kP50:
            return "Median (P50)      (us)";
        case Metric::kP90:
            return "90th Percentile   (us)";
        case Metric::kP99:
            return "99th Percentile   (us)";
        case Metric::kP999:
            return "99.9th Percentile (us)";
        case Metric::kMaximum:
            return "Maximum           (us)";
        case Metric::kOver1ms:
            return "Above 1 ms         (%)";
        case Metric::kOver2ms:
            return "Above 2 ms         (%)";
        case Metric::kOver4ms:
            return "Above 4 ms         (%)";
    }
    return "";
}

const char* metric_name(Metric metric) {
    switch (metric) {
        case Metric::kAverage:
            return "the average";
        case Metric::kP50:
            return "P50";
        case Metric::kP90:
            return "P90";
        case Metric::kP99:
            return "P99";
        case Metric::kP999:
            return "P99.9";
        case Metric::kMaximum:
            return "the maximum";
        case Metric::kOver1ms:
            return "the share above 1 ms";
        case Metric::kOver2ms:
            return "the share above 2 ms";
        case Metric::kOver4ms:
            return "the share above 4 ms";
    }
    return "";
}

const char* metric_row(Metric metric) {
    switch (metric) {
        case Metric::kAverage:
            return "Average";
        case Metric::kP50:
            return "P50";
        case Metric::kP90:
            return "P90";
        case Metric::kP99:
            return "P99";
        case Metric::kP999:
            return "P99.9";
        case Metric::kMaximum:
            return "Maximum";
        case Metric::kOver1ms:
            return "Above 1 ms";
        case Metric::kOver2ms:
            return "Above 2 ms";
        case Metric::kOver4ms:
            return "Above 4 ms";
    }
    return "";
}

std::optional<Metric> metric_of_row(std::string_view row) {
    for (const Metric metric : all_metrics())
        if (row == metric_row(metric)) return metric;
    return std::nullopt;
}

std::optional<double> metric_quantile(Metric metric) {
    switch (metric) {
        case Metric::kP50:
            return 0.5;
        case Metric::kP90:
            return 0.9;
        case Metric::kP99:
            return 0.99;
        case Metric::kP999:
            return 0.999;
        case Metric::kMaximum:
            return 1.0;
        default:
            return std::nullopt;
    }
}

std::optional<int64_t> metric_threshold_ns(Metric metric) {
    switch (metric) {
        case Metric::kOver1ms:
            return kMs;
        case Metric::kOver2ms:
            return 2 * kMs;
        case Metric::kOver4ms:
            return 4 * kMs;
        default:
            return std::nullopt;
    }
}

bool metric_is_share(Metric metric) { return metric_threshold_ns(metric).has_value(); }

const std::vector<Metric>& all_metrics() {
    static const std::vector<Metric> kAll = {Metric::kAverage, Metric::kP50,     Metric::kP90,
                                             Metric::kP99,     Metric::kP999,    Metric::kMaximum,
                                             Metric::kOver1ms, Metric::kOver2ms, Metric::kOver4ms};
    return kAll;
}

size_t quantile_index(size_t n, double q) {
    // 0.999 * 1000 is 999.0000000000001 in binary: without the slack the rank would be 1000.
    auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(n) - 1e-9 * n));
    return std::clamp<size_t>(rank, 1, n) - 1;
}

double metric_value(const std::vector<int64_t>& sorted, Metric metric) {
    if (sorted.empty()) return 0;
    if (auto q = metric_quantile(metric))
        return static_cast<double>(sorted[quantile_index(sorted.size(), *q)]);
    const auto n = static_cast<double>(sorted.size());
    if (auto threshold = metric_threshold_ns(metric))
        return (sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), *threshold)) / n;
    return std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
}

double flip_test(const std::vector<BlockPair>& pairs, Metric metric, size_t random_flips) {
    return flip_tests(pool(pairs), pairs.size(), {metric}, random_flips).front();
}

std::vector<Comparison> compare(const std::vector<BlockPair>& pairs, size_t random_flips) {
    std::vector<Comparison> out;
    std::vector<Metric> tested;
    for (Metric metric : all_metrics())
        if (metric != Metric::kMaximum) tested.push_back(metric);
    const PooledBlocks pooled = pool(pairs);
    std::vector<double> p;
    if (pairs.size() >= kMinPairs) p = flip_tests(pooled, pairs.size(), tested, random_flips);
    Labels labels(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i) labels.set(i, false);
    size_t next = 0;
    for (Metric metric : all_metrics()) {
        Comparison c{.metric = metric,
                     .first = 0,
                     .second = 0,
                     .percent = {},
                     .p = {},
                     .p_adjusted = 1,
                     .verdict = Verdict3::kNone,
                     .interval = difference_interval(pairs, metric)};
        if (!pairs.empty()) {
            c.first = pooled.value(metric, labels.first);
            c.second = pooled.value(metric, labels.second);
        }
        if (c.first > 0) c.percent = 100 * (c.second - c.first) / c.first;
        if (metric != Metric::kMaximum && !p.empty()) c.p = p[next++];
        out.push_back(c);
    }
    return out;
}

std::vector<double> holm(const std::vector<double>& p) {
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
    std::vector<double> adjusted(p.size());
    double highest = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        highest = std::max(highest, p[order[i]] * static_cast<double>(p.size() - i));
        adjusted[order[i]] = std::min(1.0, highest);
    }
    return adjusted;
}

double smallest_p(size_t pairs) {
    return pairs <= kExactPairs ? std::ldexp(2.0, -static_cast<int>(pairs)) : 1.0 / kRandomFlips;
}

uint32_t rounds_for_verdict(size_t columns) {
    const size_t tested = all_metrics().size() - 1;  // not the maximum
    const double family = static_cast<double>(tested * (columns - 1));
    uint32_t rounds = kMinPairs;
    while (smallest_p(rounds) * family >= kAlpha && rounds < 2 * kExactPairs) ++rounds;
    return rounds;
}

void judge(std::vector<std::vector<Comparison>>& family, size_t pairs, double alpha) {
    std::vector<double> p;
    for (const auto& arm : family)
        for (const Comparison& c : arm)
            if (c.p) p.push_back(*c.p);
    const std::vector<double> adjusted = holm(p);
    const bool possible = smallest_p(pairs) * static_cast<double>(p.size()) < alpha;
    size_t next = 0;
    for (auto& arm : family) {
        for (Comparison& c : arm) {
            if (!c.p) continue;
            c.p_adjusted = adjusted[next++];
            if (!possible) continue;
            c.verdict = c.p_adjusted < alpha ? Verdict3::kDifferent : Verdict3::kSame;
        }
    }
}

}  // namespace fairswitch
