#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "userspace/analysis/pooled.h"
#include "userspace/analysis/schedule.h"
#include "userspace/analysis/stats.h"

namespace fairswitch {
namespace {

std::vector<int64_t> one_to(int64_t n, int64_t unit = 1) {
    std::vector<int64_t> out;
    for (int64_t i = 1; i <= n; ++i) out.push_back(i * unit);
    return out;
}

const Comparison& row(const std::vector<Comparison>& rows, Metric metric) {
    return *std::find_if(rows.begin(), rows.end(),
                         [&](const Comparison& c) { return c.metric == metric; });
}

TEST(Quantile, IsNearestRank) {
    EXPECT_EQ(metric_value(one_to(5), Metric::kP50), 3);
    EXPECT_EQ(metric_value(one_to(4), Metric::kP50), 2);
    EXPECT_EQ(metric_value(one_to(100), Metric::kP90), 90);
    EXPECT_EQ(metric_value(one_to(100), Metric::kP99), 99);
    EXPECT_EQ(metric_value(one_to(100), Metric::kP999), 100);
    EXPECT_EQ(metric_value(one_to(1000), Metric::kP999), 999);
    EXPECT_EQ(metric_value(one_to(10000), Metric::kP999), 9990);
    EXPECT_EQ(metric_value(one_to(7), Metric::kMaximum), 7);
    EXPECT_EQ(metric_value({42}, Metric::kP999), 42);
    EXPECT_EQ(metric_value({}, Metric::kP50), 0);
}

TEST(Quantile, SharesAreAboveTheThreshold) {
    const std::vector<int64_t> ms = one_to(5, 1'000'000);
    EXPECT_DOUBLE_EQ(metric_value(ms, Metric::kOver1ms), 0.8);  // 1 ms itself isn't above
    EXPECT_DOUBLE_EQ(metric_value(ms, Metric::kOver2ms), 0.6);
    EXPECT_DOUBLE_EQ(metric_value(ms, Metric::kOver4ms), 0.2);
    EXPECT_DOUBLE_EQ(metric_value(ms, Metric::kAverage), 3'000'000);
}

TEST(Pooled, EqualsTheMetricOfTheUnion) {
    std::mt19937_64 random(7);
    std::vector<std::vector<int64_t>> blocks(9);
    for (auto& block : blocks)
        for (size_t i = 0; i < 37 + random() % 300; ++i)
            block.push_back(static_cast<int64_t>(random() % 5'000'000));
    std::vector<const std::vector<int64_t>*> pointers;
    for (const auto& block : blocks) pointers.push_back(&block);
    PooledBlocks pooled(pointers);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<uint32_t> times(blocks.size());
        for (uint32_t& t : times) t = random() % 3;
        times[0] = 1;
        std::vector<int64_t> all;
        for (size_t b = 0; b < blocks.size(); ++b)
            for (uint32_t t = 0; t < times[b]; ++t)
                all.insert(all.end(), blocks[b].begin(), blocks[b].end());
        std::sort(all.begin(), all.end());
        for (Metric metric : all_metrics())
            EXPECT_NEAR(pooled.value(metric, times), metric_value(all, metric), 1e-6)
                << metric_label(metric);
    }
}

// Every pair says the same: only the observed labels and their mirror image reach the observed
// difference, so p = 2 / 2^10.
TEST(Randomisation, ExactOnTenAgreeingPairs) {
    std::vector<BlockPair> pairs;
    for (int64_t i = 0; i < 10; ++i) pairs.push_back({{100 + i, 101 + i}, {200 + i, 201 + i}});
    auto rows = compare(pairs);
    EXPECT_DOUBLE_EQ(*row(rows, Metric::kAverage).p, 2.0 / 1024);
    EXPECT_FALSE(row(rows, Metric::kMaximum).p.has_value());
    EXPECT_NEAR(*row(rows, Metric::kAverage).percent, 100.0 * 100 / 105, 0.01);
}

// One pair of ten differs, by 10: half of the flips leave |difference| = 10, all do.
TEST(Randomisation, OneDifferingPairProvesNothing) {
    std::vector<BlockPair> pairs(10, BlockPair{{100}, {100}});
    pairs[4].second = {110};
    EXPECT_DOUBLE_EQ(*row(compare(pairs), Metric::kAverage).p, 1.0);
}

// Differences +1 … +9 and -10, mean statistic: |sum| >= 35 of all sign choices of 1..10.
TEST(Randomisation, ExactAgainstEnumeration) {
    std::vector<BlockPair> pairs;
    for (int64_t i = 1; i <= 10; ++i) pairs.push_back({{1000}, {1000 + (i == 10 ? -10 : i)}});
    int reached = 0;
    for (int flips = 0; flips < 1024; ++flips) {
        int sum = 0;
        for (int i = 1; i <= 10; ++i) sum += flips >> (i - 1) & 1 ? i : -i;
        reached += std::abs(sum) >= 35;
    }
    EXPECT_DOUBLE_EQ(*row(compare(pairs), Metric::kAverage).p, reached / 1024.0);
}

TEST(Randomisation, FewerThanTenPairsGetNoVerdict) {
    std::vector<BlockPair> pairs(9, BlockPair{{100}, {900}});
    std::vector<std::vector<Comparison>> family = {compare(pairs)};
    judge(family, pairs.size());
    for (const Comparison& c : family[0]) {
        EXPECT_FALSE(c.p.has_value());
        EXPECT_EQ(c.verdict, Verdict3::kNone);
    }
}

TEST(Randomisation, ManyPairsUseRandomFlips) {
    std::vector<BlockPair> pairs;
    for (int64_t i = 0; i < 30; ++i) pairs.push_back({{100 + i % 3}, {200 + i % 5}});
    EXPECT_LE(*row(compare(pairs), Metric::kAverage).p, 2.0 / 65536);
    EXPECT_GT(*row(compare(pairs), Metric::kAverage).p, 0);
}

// A family so large that ten pairs couldn't bear any verdict.
TEST(Randomisation, TooFewPairsForTheFamilyGetNoVerdict) {
    std::vector<BlockPair> pairs(10, BlockPair{{100}, {900}});
    std::vector<std::vector<Comparison>> family(4, compare(pairs));
    judge(family, pairs.size());
    EXPECT_EQ(family[0][0].verdict, Verdict3::kNone);
    family.resize(2);
    judge(family, pairs.size());
    EXPECT_EQ(family[0][0].verdict, Verdict3::kDifferent);
}

// A/A: labels drawn at random from one population must not be told apart much more often than the
// error rate promises, whole table together.
TEST(Randomisation, FalseAlarmsOfAATablesStayBelowAlpha) {
    std::mt19937_64 random(11);
    std::lognormal_distribution<double> latency(4.1, 0.6), level(0, 0.3);
    int alarms = 0;
    const int tables = 60;
    for (int t = 0; t < tables; ++t) {
        std::vector<BlockPair> pairs(10);
        for (BlockPair& pair : pairs) {
            for (auto* side : {&pair.first, &pair.second}) {
                const double drift = std::exp(level(random));
                for (int i = 0; i < 40; ++i)
                    side->push_back(static_cast<int64_t>(1e4 * drift * latency(random)));
            }
        }
        std::vector<std::vector<Comparison>> family = {compare(pairs)};
        judge(family, pairs.size());
        alarms += std::any_of(family[0].begin(), family[0].end(), [](const Comparison& c) {
            return c.verdict == Verdict3::kDifferent;
        });
    }
    EXPECT_LE(alarms, 9);  // binomial(60, 0.05): 9 or more has probability 0.003
}

TEST(Holm, StepsDown) {
    auto adjusted = holm({0.01, 0.04, 0.03, 0.005});
    EXPECT_NEAR(adjusted[3], 0.02, 1e-12);
    EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
    EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
    EXPECT_NEAR(adjusted[1], 0.06, 1e-12);  // never below a smaller p's
    EXPECT_EQ(holm({0.9, 0.8})[0], 1.0);
}

TEST(Interval, OnlyWhereItCovers) {
    std::mt19937_64 random(3);
    std::exponential_distribution<double> latency(1.0 / 60'000);
    auto make = [&](size_t n) {
        std::vector<BlockPair> pairs(n);
        for (BlockPair& pair : pairs)
            for (int i = 0; i < 100; ++i) {
                pair.first.push_back(static_cast<int64_t>(latency(random)));
                pair.second.push_back(static_cast<int64_t>(2 * latency(random)));
            }
        return compare(pairs);
    };
    auto few = make(12);
    EXPECT_FALSE(row(few, Metric::kP50).interval.has_value());
    auto many = make(20);
    ASSERT_TRUE(row(many, Metric::kP50).interval.has_value());
    EXPECT_LT(row(many, Metric::kP50).interval->low, 100);
    EXPECT_GT(row(many, Metric::kP50).interval->high, 80);
    // 2000 samples have 2 beyond P99.9: no interval.
    EXPECT_FALSE(row(many, Metric::kP999).interval.has_value());
    EXPECT_FALSE(row(many, Metric::kMaximum).interval.has_value());
}

TEST(Schedule, EveryRoundHasEveryArmOnceInDrawnOrder) {
    auto order = draw_order(3, 200, 5);
    ASSERT_EQ(order.size(), 200u);
    std::set<std::vector<size_t>> seen;
    for (auto round : order) {
        seen.insert(round);
        std::sort(round.begin(), round.end());
        EXPECT_EQ(round, (std::vector<size_t>{0, 1, 2}));
    }
    EXPECT_EQ(seen.size(), 6u);  // every permutation occurs: no fixed pattern
    EXPECT_EQ(order, draw_order(3, 200, 5));
    EXPECT_NE(order, draw_order(3, 200, 6));
}

// 8 tested rows: 2^(1-n) * 8 * (columns - 1) must be below 0.05.
TEST(Stats, RoundsForAVerdictGrowWithTheTable) {
    EXPECT_EQ(rounds_for_verdict(2), 10u);
    EXPECT_EQ(rounds_for_verdict(3), 10u);
    EXPECT_EQ(rounds_for_verdict(5), 11u);
    EXPECT_EQ(rounds_for_verdict(9), 12u);
}

}  // namespace
}  // namespace fairswitch
