// bisect() against made-up responses whose culprits are known: main effects, interactions, noise in
// clusters. Fixed seeds. "In vain": a named switch makes no difference beside the others named.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <functional>
#include <map>

#include "tests/unit/analysis_tails.h"
#include "userspace/analysis/bisect.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

using namespace test;

constexpr size_t kSamples = 250;

bool on(const SwitchSet& set, size_t index) {
    return std::find(set.begin(), set.end(), index) != set.end();
}

// The factor by which a set of turned switches multiplies the share of late samples.
using Response = std::function<double(const SwitchSet&)>;

class World {
  public:
    World(Response response, uint64_t seed) : response_(std::move(response)), source_(seed) {}

    MeasureArms measure() {
        return [this](const std::vector<SwitchSet>& arms, size_t rounds) {
            rounds_ += rounds;
            std::vector<Tails> tails = {of({})};
            for (const SwitchSet& arm : arms) tails.push_back(of(arm));
            std::vector<std::vector<BlockPair>> pairs(arms.size());
            for (size_t r = 0; r < rounds; ++r) {
                const auto blocks = tail_round(source_, tails, kSamples);
                for (size_t a = 0; a < arms.size(); ++a)
                    pairs[a].push_back({blocks[0], blocks[a + 1]});
            }
            return pairs;
        };
    }

    size_t rounds() const { return rounds_; }

  private:
    Tails of(const SwitchSet& arm) const {
        Tails tails;
        tails.tail_ns = 1.1e6;
        tails.tail_alpha = 1.5;
        tails.drift_sigma = 0.3;
        tails.share = 0.04 * response_(arm);
        return tails;
    }

    Response response_;
    TailSource source_;
    size_t rounds_ = 0;
};

BisectOptions options() {
    BisectOptions options;
    options.metric = Metric::kOver1ms;
    options.flips = 4096;
    return options;
}

struct Outcomes {
    std::map<BisectAnswer, size_t> answers;
    std::map<SwitchSet, size_t> named;
    size_t most_rounds = 0;
    double rounds = 0;
    size_t runs = 0;
};

Outcomes search_often(const Response& response, size_t switches, size_t runs) {
    Outcomes out;
    out.runs = runs;
    for (size_t run = 0; run < runs; ++run) {
        World world(response, 1000 * switches + run);
        const BisectResult result = bisect(switches, options(), world.measure());
        ++out.answers[result.answer];
        if (result.answer == BisectAnswer::kCulprits) ++out.named[result.culprits];
        EXPECT_EQ(result.rounds, world.rounds());
        out.most_rounds = std::max(out.most_rounds, result.rounds);
        out.rounds += double(result.rounds) / double(runs);
    }
    EXPECT_LE(out.most_rounds, bisect_rounds(switches, options()));
    for (const auto& [set, count] : out.named) {
        std::printf("  %zu of %zu name", count, runs);
        for (size_t i : set) std::printf(" %zu", i);
        std::printf("\n");
    }
    std::printf("  no change %zu, not these %zu, unconfirmed %zu; rounds: mean %.0f, most %zu\n",
                out.answers[BisectAnswer::kNoChange], out.answers[BisectAnswer::kNotThese],
                out.answers[BisectAnswer::kUnconfirmed], out.rounds, out.most_rounds);
    return out;
}

bool rate_may_be(size_t errors, size_t runs, double rate) {
    if (errors == 0) return true;
    return cdf(complement(boost::math::binomial(double(runs), rate), double(errors - 1))) > 0.001;
}

TEST(Bisect, NoChangeIsSeenWhereThereIsNone) {
    auto out = search_often([](const SwitchSet&) { return 1.0; }, 8, 150);
    EXPECT_TRUE(rate_may_be(150 - out.answers[BisectAnswer::kNoChange], 150, kAlpha / 3));
}

TEST(Bisect, FindsASingleSwitch) {
    auto out = search_often([](const SwitchSet& s) { return on(s, 5) ? 3.0 : 1.0; }, 8, 40);
    EXPECT_GE(out.named[{5}], 34u);
    EXPECT_TRUE(rate_may_be(out.answers[BisectAnswer::kCulprits] - out.named[{5}], 40, kAlpha / 3));
}

TEST(Bisect, FindsAnImprovement) {
    auto out = search_often([](const SwitchSet& s) { return on(s, 0) ? 0.25 : 1.0; }, 6, 30);
    EXPECT_GE(out.named[{0}], 24u);
    EXPECT_TRUE(rate_may_be(out.answers[BisectAnswer::kCulprits] - out.named[{0}], 30, kAlpha / 3));
}

TEST(Bisect, FindsAPairThatActsOnlyTogether) {
    auto out =
        search_often([](const SwitchSet& s) { return on(s, 1) && on(s, 6) ? 3.5 : 1.0; }, 8, 30);
    EXPECT_GE((out.named[{1, 6}]), 24u);
    EXPECT_TRUE(
        rate_may_be(out.answers[BisectAnswer::kCulprits] - out.named[{1, 6}], 30, kAlpha / 3));
}

TEST(Bisect, FindsAPairInOneHalf) {
    auto out =
        search_often([](const SwitchSet& s) { return on(s, 2) && on(s, 3) ? 3.5 : 1.0; }, 8, 30);
    EXPECT_GE((out.named[{2, 3}]), 24u);
}

TEST(Bisect, FindsTwoThatAddUp) {
    auto out =
        search_often([](const SwitchSet& s) { return 1 + 2.5 * on(s, 0) + 2.5 * on(s, 4); }, 6, 30);
    // Either alone has an effect as well: to name it isn't in vain.
    size_t vain = 0;
    for (const auto& [set, count] : out.named)
        for (size_t i : set) vain += i != 0 && i != 4 ? count : 0;
    EXPECT_TRUE(rate_may_be(vain, 30, kAlpha / 3));
    EXPECT_GE((out.named[{0, 4}]), 18u);
}

// 2 makes it worse, 4 takes that back: all together change nothing.
TEST(Bisect, ACancelledChangeIsNoneBetweenBaseAndAll) {
    auto out =
        search_often([](const SwitchSet& s) { return on(s, 2) && !on(s, 4) ? 3.0 : 1.0; }, 6, 60);
    EXPECT_TRUE(rate_may_be(60 - out.answers[BisectAnswer::kNoChange], 60, kAlpha / 3));
}

// The cancelling pair stands in the way of the search for a third.
TEST(Bisect, FindsASwitchBesideACancellingPair) {
    auto out = search_often(
        [](const SwitchSet& s) {
            return (on(s, 0) && !on(s, 5) ? 2.0 : 1.0) * (on(s, 3) ? 3.5 : 1.0);
        },
        6, 30);
    size_t vain = 0, right = 0;
    for (const auto& [set, count] : out.named) {
        right += on(set, 3) ? count : 0;
        vain += !on(set, 3) || on(set, 1) || on(set, 2) || on(set, 4) ? count : 0;
    }
    EXPECT_GE(right, 20u);
    EXPECT_TRUE(rate_may_be(vain, 30, kAlpha / 3));
}

TEST(Bisect, ThreeThatActOnlyTogetherAreNotOneOrTwo) {
    auto out = search_often(
        [](const SwitchSet& s) { return on(s, 0) && on(s, 3) && on(s, 5) ? 4.0 : 1.0; }, 6, 30);
    EXPECT_EQ(out.answers[BisectAnswer::kCulprits], 0u);
    EXPECT_GE(out.answers[BisectAnswer::kNotThese], 24u);
}

TEST(Bisect, ASingleSwitchIsConfirmedToo) {
    World world([](const SwitchSet& s) { return on(s, 0) ? 4.0 : 1.0; }, 7);
    const BisectResult result = bisect(1, options(), world.measure());
    EXPECT_EQ(result.answer, BisectAnswer::kCulprits);
    ASSERT_EQ(result.steps.size(), 2u);
    EXPECT_EQ(result.steps[1].kind, BisectStep::Kind::kConfirm);
    EXPECT_GT(result.percent.value_or(0), 100);
}

TEST(Bisect, TextNamesSwitchEffectAndEvidence) {
    World world([](const SwitchSet& s) { return on(s, 1) && on(s, 2) ? 5.0 : 1.0; }, 8);
    const BisectResult result = bisect(3, options(), world.measure());
    ASSERT_EQ(result.answer, BisectAnswer::kCulprits);
    const std::string text = bisect_text(result, options(), {"lag-clamp", "NEXT_BUDDY", "short"});
    EXPECT_EQ(text.find("NEXT_BUDDY + short changes the share above 1 ms.\n"), 0u) << text;
    for (const char* part : {"difference from base: +", "short alone: ", "detect ", "search ",
                             "confirm", "confirmed: both are needed", "rounds in all", "5 %"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Bisect, RefusesWhatCannotWork) {
    const MeasureArms none = [](const std::vector<SwitchSet>&, size_t) {
        return std::vector<std::vector<BlockPair>>();
    };
    EXPECT_THROW(bisect(0, options(), none), Failure);
    BisectOptions bad = options();
    bad.metric = Metric::kMaximum;
    EXPECT_THROW(bisect(2, bad, none), Failure);
    bad = options();
    bad.batch = 5;
    EXPECT_THROW(bisect(2, bad, none), Failure);
}

}  // namespace
}  // namespace fairswitch
