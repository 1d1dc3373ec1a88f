// The statistics against data whose truth is known: does the verdict keep its error rate, do
// printed intervals cover? Fixed seeds. A bound is missed by chance alone in one of 1000 checks.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <map>

#include "tests/unit/analysis_tails.h"
#include "userspace/analysis/interval.h"
#include "userspace/analysis/stats.h"

namespace fairswitch {
namespace {

using namespace test;

constexpr double kChance = 0.001;

// Whether so many of `n` can be, if each has at most probability p.
bool at_most(size_t hits, size_t n, double p) {
    if (hits == 0) return true;
    return cdf(complement(boost::math::binomial(double(n), p), double(hits - 1))) > kChance;
}

bool at_least(size_t hits, size_t n, double p) { return at_most(n - hits, n, 1 - p); }

Tails realistic() {
    Tails tails;
    tails.run = 10;
    tails.block_cv = 1;
    tails.drift_sigma = 0.3;
    return tails;
}

Tails halved_values(Tails tails) {
    tails.tail_ns /= 2;
    return tails;
}

Tails with_share(Tails tails, double share) {
    tails.share = share;
    return tails;
}

using Pairs = std::vector<BlockPair>;

// Every arm's pairs with arm 0, from rounds that they share.
std::vector<Pairs> compared(TailSource& source, const std::vector<Tails>& arms, size_t rounds,
                            size_t samples) {
    std::vector<Pairs> out(arms.size() - 1);
    for (size_t r = 0; r < rounds; ++r) {
        const auto blocks = tail_round(source, arms, samples);
        for (size_t arm = 1; arm < arms.size(); ++arm)
            out[arm - 1].push_back({blocks[0], blocks[arm]});
    }
    return out;
}

// Whether any row of these arms (1 = the first compared) has a verdict, whole table corrected.
bool alarm(const std::vector<Pairs>& arms, size_t looked_at, size_t flips = kRandomFlips) {
    std::vector<std::vector<Comparison>> family;
    for (const Pairs& pairs : arms) family.push_back(compare(pairs, flips));
    judge(family, arms[0].size());
    return std::any_of(family.begin(), family.begin() + long(looked_at), [](const auto& rows) {
        return std::any_of(rows.begin(), rows.end(),
                           [](const Comparison& c) { return c.verdict == Verdict3::kDifferent; });
    });
}

// Each row by itself: p is at most a in at most a share a of tables, whatever a is.
TEST(FalseAlarms, EveryRowIsExact) {
    TailSource source(19);
    const size_t tables = 600;
    std::map<Metric, size_t> at_5, at_20;
    for (size_t t = 0; t < tables; ++t)
        for (const Comparison& c : compare(tail_pairs(source, realistic(), realistic(), 10, 200))) {
            at_5[c.metric] += c.p && *c.p <= 0.05;
            at_20[c.metric] += c.p && *c.p <= 0.2;
        }
    for (Metric metric : all_metrics()) {
        EXPECT_TRUE(at_most(at_5[metric], tables, 0.05)) << metric_label(metric) << at_5[metric];
        EXPECT_TRUE(at_most(at_20[metric], tables, 0.2)) << metric_label(metric) << at_20[metric];
    }
    // Not exact by never speaking: the average takes all values.
    EXPECT_TRUE(at_least(at_20[Metric::kAverage], tables, 0.19));
}

void expect_false_alarms(const std::vector<Tails>& arms, size_t looked_at, size_t rounds,
                         size_t tables, size_t flips = kRandomFlips) {
    TailSource source(20 + arms.size() + rounds);
    size_t alarms = 0;
    for (size_t t = 0; t < tables; ++t)
        alarms += alarm(compared(source, arms, rounds, 200), looked_at, flips);
    EXPECT_TRUE(at_most(alarms, tables, kAlpha)) << alarms << " of " << tables;
    ::testing::Test::RecordProperty("false_alarm_tables", int(alarms));
    std::printf("  %zu of %zu A/A tables have a false row\n", alarms, tables);
}

TEST(FalseAlarms, MildTail) { expect_false_alarms({Tails(), Tails()}, 1, 10, 600); }

TEST(FalseAlarms, ClusteredDriftingTail) {
    expect_false_alarms({realistic(), realistic()}, 1, 10, 600);
}

TEST(FalseAlarms, OnTheCliff) {
    Tails cliff = realistic();  // P99 is the body's end or the tail's beginning, by chance
    cliff.drift_ar = 0.95;
    expect_false_alarms({cliff, cliff}, 1, 12, 100);
}

TEST(FalseAlarms, RandomFlips) {
    expect_false_alarms({realistic(), realistic()}, 1, 20, 120, 4096);
}

TEST(FalseAlarms, ThreeEqualArms) {
    expect_false_alarms({realistic(), realistic(), realistic()}, 2, 10, 300);
}

// The A/A arm of a table whose other arm really differs.
TEST(FalseAlarms, TwinBesideADifferentArm) {
    expect_false_alarms({realistic(), realistic(), with_share(realistic(), 0.001)}, 1, 10, 300);
}

// The check itself: arms that aren't drawn but alternate, under a trend, are told apart.
TEST(FalseAlarms, WithoutRandomOrderTheCheckFails) {
    TailSource source(5);
    const size_t tables = 40;
    size_t alarms = 0;
    for (size_t t = 0; t < tables; ++t) {
        Pairs pairs(10);
        Tails tails;
        for (BlockPair& pair : pairs) {
            for (auto* side : {&pair.first, &pair.second}) {
                *side = source.block(tails, 200);
                tails.body_ns *= 1.3;
            }
        }
        alarms += alarm({pairs}, 1);
    }
    EXPECT_FALSE(at_most(alarms, tables, kAlpha)) << alarms;
}

struct Printed {
    size_t printed = 0, covers = 0;
};

struct Scene {
    const char* name;
    Tails first, second;
    size_t rounds, samples, tables;
};

std::map<Metric, Printed> intervals_of(const Scene& scene, uint64_t seed) {
    TailSource source(seed);
    std::map<Metric, Printed> out;
    for (size_t t = 0; t < scene.tables; ++t) {
        const Pairs pairs =
            tail_pairs(source, scene.first, scene.second, scene.rounds, scene.samples);
        for (Metric metric : all_metrics()) {
            const auto interval = difference_interval(pairs, metric);
            if (!interval) continue;
            const double truth = 100 * (scene.second.truth(metric) / scene.first.truth(metric) - 1);
            ++out[metric].printed;
            out[metric].covers += truth > interval->low - 1e-3 && truth < interval->high + 1e-3;
        }
    }
    return out;
}

// What a reader can rely on, of every row: a wrong interval stands in at most 8 of 100 tables; and
// where a row is printed regularly, 92 of 100 of what is printed covers. (A row that is printed in
// fewer than one table of ten was let through by the chance that made it odd.)
void expect_coverage(const Scene& scene) {
    for (const auto& [metric, row] : intervals_of(scene, 42)) {
        std::printf("  %-20s %-26s printed %3zu of %zu, covers %zu\n", scene.name,
                    metric_label(metric), row.printed, scene.tables, row.covers);
        EXPECT_TRUE(at_most(row.printed - row.covers, scene.tables, 0.08))
            << scene.name << " " << metric_label(metric);
        if (row.printed * 10 < scene.tables) continue;
        EXPECT_TRUE(at_least(row.covers, row.printed, 0.92))
            << scene.name << " " << metric_label(metric);
    }
}

TEST(Coverage, TailValuesHalved) {
    Tails tails = with_share(Tails(), 0.03);
    expect_coverage({"mild", tails, halved_values(tails), 20, 1000, 150});
}

TEST(Coverage, ClusteredTail) {
    Tails tails = with_share(realistic(), 0.06);
    expect_coverage({"realistic", tails, with_share(tails, 0.03), 40, 800, 100});
}

TEST(Coverage, VeryHeavyTail) {
    Tails tails = with_share(Tails(), 0.05);
    tails.tail_alpha = 1.2;
    expect_coverage({"very heavy", tails, halved_values(tails), 20, 1000, 150});
}

// P99.9 far inside a tail: the interval is there, and right.
TEST(Coverage, DeepTail) {
    Tails tails = with_share(Tails(), 0.05);
    const Scene scene{"deep", tails, halved_values(tails), 24, 5000, 50};
    expect_coverage(scene);
    EXPECT_GE(intervals_of(scene, 43)[Metric::kP99].printed, 40u);
    EXPECT_GE(intervals_of(scene, 43)[Metric::kP999].printed, 25u);
}

// The share of late samples is about the quantile's own: the seeds' situation. Exceedances there
// are plenty, but the quantile's interval must not be printed; that of the shares may.
TEST(Coverage, CliffIsRecognised) {
    Tails cliff = realistic();
    cliff.tail_ns = 2e6;
    for (double share : {0.006, 0.008, 0.010, 0.012}) {
        const Scene scene{
            "cliff at P99", with_share(cliff, share), with_share(cliff, 0.01), 40, 500, 60};
        auto rows = intervals_of(scene, 44);
        EXPECT_LE(rows[Metric::kP99].printed, 4u) << share;
        EXPECT_GE(rows[Metric::kP50].printed, 55u) << share;
        expect_coverage(scene);
    }
}

TEST(Coverage, CliffAtP999) {
    Tails cliff = with_share(Tails(), 0.001);
    cliff.tail_ns = 2e6;
    const Scene scene{"cliff at P99.9", cliff, with_share(cliff, 0.0012), 24, 2500, 50};
    EXPECT_LE(intervals_of(scene, 45)[Metric::kP999].printed, 3u);
    expect_coverage(scene);
}

TEST(Coverage, SampledTruthIsTheFormulas) {
    TailSource source(6);
    for (const Tails& tails : {Tails(), realistic()}) {
        std::vector<int64_t> all;
        for (int b = 0; b < 3000; ++b) {
            const auto block = source.block(tails, 300);
            all.insert(all.end(), block.begin(), block.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_NEAR(metric_value(all, Metric::kP50) / tails.truth(Metric::kP50), 1, 0.03);
        EXPECT_NEAR(metric_value(all, Metric::kAverage) / tails.truth(Metric::kAverage), 1, 0.04);
        EXPECT_NEAR(metric_value(all, Metric::kOver1ms) / tails.truth(Metric::kOver1ms), 1, 0.1);
        EXPECT_NEAR(metric_value(all, Metric::kP999) / tails.truth(Metric::kP999), 1, 0.1);
    }
}

}  // namespace
}  // namespace fairswitch
