// The power table and the stop rules against brute force. Fixed seeds.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "tests/unit/analysis_tails.h"
#include "userspace/analysis/power.h"
#include "userspace/analysis/stop.h"

namespace fairswitch {
namespace {

using namespace test;

PowerPlan plan_of(size_t rounds, double samples, TailStructure structure) {
    PowerPlan plan;
    plan.rounds = rounds;
    plan.block_seconds = 1;
    plan.rate_hz = samples;
    plan.structure = structure;
    return plan;
}

constexpr TailEffect kEffects[] = {TailEffect::kHalvedValues, TailEffect::kHalvedShare};

// Two estimates of one probability: their distance in standard errors.
double distance(double p, size_t n, double q, size_t m) {
    const double both = (p * n + q * m) / double(n + m);
    return std::abs(p - q) / std::sqrt(both * (1 - both) * (1.0 / n + 1.0 / m) + 1e-9);
}

TEST(Power, MoreBlocksNeverSeeLess) {
    for (TailStructure structure : {kMild, kRealistic})
        for (TailEffect effect : kEffects)
            for (double samples : {250.0, 700.0, 3000.0, 16000.0})
                for (size_t arms : {1, 2, 3}) {
                    double before = 0;
                    for (size_t rounds = 10; rounds <= 120; ++rounds) {
                        PowerPlan plan = plan_of(rounds, samples, structure);
                        plan.compared_arms = arms;
                        const auto power = tabulated_power(plan, effect);
                        ASSERT_TRUE(power.has_value());
                        EXPECT_GE(*power, before - 1e-12);
                        EXPECT_LE(*power, 1);
                        before = *power;
                    }
                }
}

TEST(Power, LongBlocksSeeALargeTail) {
    EXPECT_GT(*tabulated_power(plan_of(80, 16000, kMild), TailEffect::kHalvedValues), 0.95);
    EXPECT_LT(*tabulated_power(plan_of(10, 250, kRealistic), TailEffect::kHalvedValues), 0.1);
}

// The table and fresh simulations with other seeds. Between the grid's points it interpolates.
TEST(Power, TableAgreesWithALiveSimulation) {
    for (TailEffect effect : kEffects)
        for (double samples : {500.0, 2000.0}) {
            const PowerPlan plan = plan_of(20, samples, kMild);
            const double live = simulate_power(plan, effect, 200, 2000, 99);
            EXPECT_LT(distance(*tabulated_power(plan, effect), 400, live, 200), 4) << samples;
            const PowerPlan off = plan_of(25, 1.4 * samples, kMild);
            const double odd = simulate_power(off, effect, 200, 2000, 98);
            EXPECT_NEAR(*tabulated_power(off, effect), odd, 0.15) << samples;
        }
}

// The same world, sample by sample, through the functions that judge a real table.
TEST(Power, AgreesWithBruteForce) {
    const size_t tables = 150, samples = 2000, rounds = 10;
    Tails base;
    base.body_ns = 100'000;
    base.body_sigma = 0.01;
    base.drift_sigma = 0;
    base.tail_ns = 400'000;
    base.tail_alpha = 2;
    base.tail_cut_ns = 1e15;
    base.share = 0.00625;  // so that one in a thousand is above 1 ms
    ASSERT_NEAR(base.truth(Metric::kP999), 1e6, 1e3);
    for (TailEffect effect : kEffects) {
        Tails other = base;
        (effect == TailEffect::kHalvedValues ? other.tail_ns : other.share) /= 2;
        const PowerPlan plan = plan_of(rounds, samples, kMild);
        TailSource source(31);
        size_t seen = 0;
        for (size_t t = 0; t < tables; ++t) {
            const auto rows = compare(tail_pairs(source, base, other, rounds, samples));
            for (const Comparison& c : rows) {
                const bool asked = effect == TailEffect::kHalvedValues
                                       ? c.metric == Metric::kP999
                                       : c.metric == Metric::kOver1ms;
                seen += asked && *c.p < plan.level();
            }
        }
        const double quick = simulate_power(plan, effect, 400, 0, 17);
        std::printf("  brute force %.3f, quick %.3f, table %.3f\n", double(seen) / tables, quick,
                    *tabulated_power(plan, effect));
        EXPECT_LT(distance(double(seen) / tables, tables, quick, 400), 3.3);
    }
}

// A plan outside of the table is told at once, as a bound that the nearest plan inside gives.
TEST(Power, PlansOutsideOfTheTableAreBounded) {
    const auto effect = TailEffect::kHalvedValues;
    const auto inside = [&](size_t rounds, double samples) {
        return *tabulated_power(plan_of(rounds, samples, kRealistic), effect);
    };
    const Power many = power(plan_of(500, 300, kRealistic), effect);
    EXPECT_EQ(many.bound, Bound::kAtLeast);
    EXPECT_NEAR(many.value, inside(120, 300), 1e-6);
    const Power long_blocks = power(plan_of(10, 1e6, kRealistic), effect);
    EXPECT_EQ(long_blocks.bound, Bound::kAtLeast);
    EXPECT_NEAR(long_blocks.value, inside(10, 16000), 1e-6);
    const Power few = power(plan_of(20, 100, kRealistic), effect);
    EXPECT_EQ(few.bound, Bound::kAtMost);
    EXPECT_NEAR(few.value, inside(20, 250), 1e-6);
    PowerPlan arms = plan_of(20, 1000, kRealistic);
    arms.compared_arms = 9;
    EXPECT_EQ(power(arms, effect).bound, Bound::kAtMost);
    EXPECT_EQ(power(plan_of(20, 1000, kRealistic), effect).bound, Bound::kExact);
    EXPECT_EQ(power(plan_of(500, 100, kRealistic), effect).bound, Bound::kUnknown);
    EXPECT_EQ(power(plan_of(20, 1000, {20, 0.2}), effect).bound, Bound::kUnknown);
}

TEST(Power, SentenceForPeople) {
    EXPECT_EQ(power_sentence(plan_of(4, 300, kMild)),
              "this plan gives no verdict: it has 4 rounds, which take at least 10");
    const std::string weak = power_sentence(plan_of(10, 2000, kMild));
    EXPECT_EQ(weak.find("this plan sees a halved P99.9 with probability 0."), 0u) << weak;
    EXPECT_NE(weak.find(" rounds would see that P99.9 with 0."), std::string::npos) << weak;
    const std::string hopeless = power_sentence(plan_of(10, 250, kRealistic));
    EXPECT_NE(hopeless.find("even 120 rounds"), std::string::npos) << hopeless;
    const std::string strong = power_sentence(plan_of(120, 16000, kMild));
    EXPECT_EQ(strong.find(';'), std::string::npos) << strong;
    const std::string bound = power_sentence(plan_of(500, 300, kRealistic));
    EXPECT_NE(bound.find("with probability at least 0."), std::string::npos) << bound;
    const std::string unknown = power_sentence(plan_of(500, 100, kRealistic));
    EXPECT_EQ(unknown.find("what this plan can see isn't known: 500 rounds of 100 samples"), 0u)
        << unknown;
}

// An A/A run that is watched by somebody who stops at the first look with a verdict.
size_t watched_alarms(const StopOptions& options, size_t runs, bool spend) {
    TailSource source(71);
    Tails tails;
    tails.share = 0.05;
    tails.run = 10;
    tails.block_cv = 1;
    tails.drift_sigma = 0.3;
    size_t alarms = 0;
    for (size_t run = 0; run < runs; ++run) {
        std::vector<std::vector<BlockPair>> compared(1);
        StopRule rule(options);
        for (StopAnswer answer; !answer.stop;) {
            for (auto& pair : tail_pairs(source, tails, tails, 1, 100))
                compared[0].push_back(std::move(pair));
            answer = rule.after_round({compared[0].size(), 0, &compared});
            if (answer.alpha == 0) continue;
            const double level = spend ? answer.alpha : options.alpha;
            if (flip_test(compared[0], Metric::kAverage, 2048) >= level) continue;
            ++alarms;
            break;
        }
    }
    return alarms;
}

bool rate_may_be(size_t hits, size_t runs, double rate) {
    if (hits == 0) return true;
    return cdf(complement(boost::math::binomial(double(runs), rate), double(hits - 1))) > 0.001;
}

TEST(StopRule, WatchedRunsKeepAlpha) {
    StopOptions options;
    options.rounds = 50;
    options.watched = true;
    for (Spending spending : {Spending::kPocock, Spending::kOBrienFleming}) {
        options.spending = spending;
        const size_t alarms = watched_alarms(options, 400, true);
        std::printf("  %zu of 400 watched A/A runs give a false alarm\n", alarms);
        EXPECT_TRUE(rate_may_be(alarms, 400, kAlpha)) << alarms;
    }
    // The check itself: with the whole of alpha at every look it fails.
    EXPECT_FALSE(rate_may_be(watched_alarms(options, 400, false), 400, kAlpha));
}

// A run that ends as soon as the interval is narrow is tested once, at a moment the data chose.
TEST(StopRule, RunsEndedByTheirIntervalKeepAlpha) {
    StopOptions options;
    options.rounds = 60;
    options.narrow = NarrowEnough{Metric::kAverage, 60};
    const size_t alarms = watched_alarms(options, 200, true);
    EXPECT_TRUE(rate_may_be(alarms, 200, kAlpha)) << alarms;
}

}  // namespace
}  // namespace fairswitch
