#include <gtest/gtest.h>

#include "userspace/analysis/stop.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

RunProgress at(size_t rounds, double seconds = 0) { return {rounds, seconds, nullptr}; }

// Values of the published formulas, computed by hand.
TEST(AlphaSpent, PublishedFormulas) {
    EXPECT_NEAR(alpha_spent(Spending::kPocock, 0.05, 0.5), 0.05 * 0.6201145, 1e-7);
    EXPECT_NEAR(alpha_spent(Spending::kOBrienFleming, 0.05, 0.25), 8.857e-5, 1e-7);
    EXPECT_NEAR(alpha_spent(Spending::kOBrienFleming, 0.05, 0.5), 0.0055746, 1e-6);
    for (Spending spending : {Spending::kPocock, Spending::kOBrienFleming}) {
        EXPECT_EQ(alpha_spent(spending, 0.05, 0), 0);
        EXPECT_DOUBLE_EQ(alpha_spent(spending, 0.05, 1), 0.05);
        EXPECT_NEAR(alpha_spent(spending, 0.05, 1 - 1e-9), 0.05, 1e-7);
    }
}

TEST(StopRule, FixedRoundsHaveAllOfAlphaAtTheEnd) {
    StopOptions options;
    options.rounds = 20;
    StopRule rule(options);
    for (size_t r = 1; r < 20; ++r) {
        const StopAnswer answer = rule.after_round(at(r));
        EXPECT_FALSE(answer.stop);
        EXPECT_EQ(answer.alpha, 0);  // nothing may be claimed in between
    }
    const StopAnswer end = rule.after_round(at(20));
    EXPECT_TRUE(end.stop);
    EXPECT_EQ(end.reason, "all 20 rounds were run");
    EXPECT_DOUBLE_EQ(end.alpha, 0.05);
}

TEST(StopRule, WatchedRunsSpendAtLooks) {
    StopOptions options;
    options.rounds = 40;
    options.watched = true;
    StopRule rule(options);
    std::vector<size_t> looks;
    double sum = 0;
    for (size_t r = 1; r <= 40; ++r) {
        const StopAnswer answer = rule.after_round(at(r));
        if (answer.alpha > 0) looks.push_back(r);
        sum += answer.alpha;
        EXPECT_EQ(answer.stop, r == 40);
    }
    EXPECT_EQ(looks, (std::vector<size_t>{10, 15, 22, 33, 40}));
    EXPECT_NEAR(sum, 0.05, 1e-12);
}

TEST(StopRule, TimeBudgetBeginsNoRoundThatWouldPassIt) {
    StopOptions options;
    options.rounds = 1000;
    options.seconds = 60;
    StopRule rule(options);
    EXPECT_FALSE(rule.after_round(at(14, 56)).stop);
    const StopAnswer answer = rule.after_round(at(15, 57));
    EXPECT_TRUE(answer.stop);
    EXPECT_EQ(answer.reason, "the time budget of 60 s is used up");
    EXPECT_DOUBLE_EQ(answer.alpha, 0.05);
}

// The time of the budget counts as information where it is further than the rounds.
TEST(StopRule, WatchedBudgetSpendsByTime) {
    StopOptions options;
    options.rounds = 1000;
    options.seconds = 100;
    options.watched = true;
    StopRule rule(options);
    EXPECT_NEAR(rule.after_round(at(10, 50)).alpha, alpha_spent(Spending::kPocock, 0.05, 0.5),
                1e-12);
}

TEST(StopRule, InterruptedRun) {
    StopOptions options;
    options.rounds = 40;
    StopRule unwatched(options);
    EXPECT_DOUBLE_EQ(unwatched.interrupted(at(12)).alpha, 0.05);  // nothing was seen before
    options.watched = true;
    StopRule watched(options);
    const double look = watched.after_round(at(10)).alpha;
    const StopAnswer end = watched.interrupted(at(20));
    EXPECT_TRUE(end.stop);
    EXPECT_NEAR(look + end.alpha, alpha_spent(Spending::kPocock, 0.05, 0.5), 1e-12);
}

std::vector<BlockPair> plain_pairs(size_t pairs, int64_t spread) {
    std::vector<BlockPair> out(pairs);
    for (size_t i = 0; i < pairs; ++i)
        for (int64_t s = 0; s < 100; ++s) {
            const auto wave = static_cast<int64_t>((s * 37 + i * 11) % 101);
            out[i].first.push_back(100'000 + spread * (wave - 50 + (i % 3) * 20));
            out[i].second.push_back(100'000 + spread * (wave - 50 + (i % 5) * 10));
        }
    return out;
}

TEST(StopRule, EndsWhenTheIntervalIsNarrow) {
    StopOptions options;
    options.rounds = 60;
    options.narrow = NarrowEnough{Metric::kP50, 5};
    const std::vector<std::vector<BlockPair>> narrow = {plain_pairs(22, 50)};
    const std::vector<std::vector<BlockPair>> wide = {plain_pairs(22, 50), plain_pairs(22, 800)};
    StopRule rule(options);
    const StopAnswer answer = rule.after_round({22, 0, &narrow});
    EXPECT_TRUE(answer.stop);
    EXPECT_EQ(answer.reason, "the interval of P50 is at most 5 % wide");
    EXPECT_GT(answer.alpha, 0);
    EXPECT_LT(answer.alpha, 0.05);
    StopRule other(options);
    EXPECT_FALSE(other.after_round({22, 0, &wide}).stop);  // every arm has to be
    const StopAnswer last = other.after_round({60, 0, &wide});
    EXPECT_TRUE(last.stop);
    EXPECT_DOUBLE_EQ(other.spent(), 0.05);
    EXPECT_LT(last.alpha, 0.05);  // the look at round 22 took its share
}

TEST(StopRule, NoIntervalIsNotNarrow) {
    StopOptions options;
    options.rounds = 60;
    options.narrow = NarrowEnough{Metric::kP50, 1000};
    const std::vector<std::vector<BlockPair>> few = {plain_pairs(12, 50)};
    EXPECT_FALSE(StopRule(options).after_round({12, 0, &few}).stop);
}

TEST(StopRule, RefusesWhatCannotWork) {
    StopOptions none;
    none.rounds = 0;
    EXPECT_THROW(StopRule{none}, Failure);
    StopOptions budget;
    budget.seconds = 0;
    EXPECT_THROW(StopRule{budget}, Failure);
    StopOptions maximum;
    maximum.narrow = NarrowEnough{Metric::kMaximum, 10};
    EXPECT_THROW(StopRule{maximum}, Failure);
}

}  // namespace
}  // namespace fairswitch
