#include "userspace/analysis/stats.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>

#include "userspace/analysis/interval.h"
#include "userspace/analysis/pooled.h"

namespace fairswitch {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kSeed = 0x66616972;

struct MetricFacts {
    Metric metric;
    const char* label;  // of a table's row
    const char* name;   // in a sentence
    const char* row;    // for plans and programs
    std::optional<double> quantile;
    std::optional<int64_t> threshold_ns;
};
constexpr MetricFacts kFacts[] = {
    {Metric::kAverage, "Average           (us)", "the average", "Average", {}, {}},
    {Metric::kP50, "Median (P50)      (us)", "P50", "P50", 0.5, {}},
    {Metric::kP90, "90th Percentile   (us)", "P90", "P90", 0.9, {}},
    {Metric::kP99, "99th Percentile   (us)", "P99", "P99", 0.99, {}},
    {Metric::kP999, "99.9th Percentile (us)", "P99.9", "P99.9", 0.999, {}},
    {Metric::kMaximum, "Maximum           (us)", "the maximum", "Maximum", 1.0, {}},
    {Metric::kOver1ms, "Above 1 ms         (%)", "the share above 1 ms", "Above 1 ms", {}, kMs},
    {Metric::kOver2ms, "Above 2 ms         (%)", "the share above 2 ms", "Above 2 ms", {}, 2 * kMs},
    {Metric::kOver4ms, "Above 4 ms         (%)", "the share above 4 ms", "Above 4 ms", {}, 4 * kMs},
};

// The table's rows stand in the order of the enumeration.
static_assert([] {
    for (size_t i = 0; i < std::size(kFacts); ++i)
        if (static_cast<size_t>(kFacts[i].metric) != i) return false;
    return std::size(kFacts) == static_cast<size_t>(Metric::kOver4ms) + 1;
}());

const MetricFacts& facts_of(Metric metric) { return kFacts[static_cast<size_t>(metric)]; }

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

const char* metric_label(Metric metric) { return facts_of(metric).label; }
const char* metric_name(Metric metric) { return facts_of(metric).name; }
const char* metric_row(Metric metric) { return facts_of(metric).row; }

std::optional<Metric> metric_of_row(std::string_view row) {
    for (const Metric metric : all_metrics())
        if (row == metric_row(metric)) return metric;
    return std::nullopt;
}

std::optional<double> metric_quantile(Metric metric) { return facts_of(metric).quantile; }

std::optional<int64_t> metric_threshold_ns(Metric metric) { return facts_of(metric).threshold_ns; }

bool metric_is_share(Metric metric) { return metric_threshold_ns(metric).has_value(); }

const std::vector<Metric>& all_metrics() {
    static const std::vector<Metric> kAll = [] {
        std::vector<Metric> all;
        for (const MetricFacts& facts : kFacts) all.push_back(facts.metric);
        return all;
    }();
    return kAll;
}

std::vector<std::vector<BlockPair>> paired(const RoundLatencies& rounds,
                                           const std::vector<uint32_t>& arms) {
    std::vector<std::vector<BlockPair>> pairs(std::max<size_t>(1, arms.size()) - 1);
    for (const auto& [round, blocks] : rounds) {
        if (blocks.size() != arms.size()) continue;
        for (size_t i = 0; i < pairs.size(); ++i)
            pairs[i].push_back({blocks.at(arms[0]), blocks.at(arms[i + 1])});
    }
    return pairs;
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
