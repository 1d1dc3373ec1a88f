#include <gtest/gtest.h>

#include <random>

#include "userspace/analysis/extremal.h"
#include "userspace/analysis/omission.h"

namespace fairswitch {
namespace {

using Values = std::vector<int64_t>;

TEST(Omission, NothingSkippedNothingAdded) {
    const auto view = with_omitted({{0, 5}, {100, 103}, {200, 260}}, 100);
    EXPECT_EQ(view.latencies, (Values{5, 3, 60}));
    EXPECT_EQ(view.added, 0u);
}

// Due at 100 and ran at 450: what was due at 200, 300 and 400 waited 250, 150 and 50.
// (HdrHistogram, which sees 350 and 100 only, would add 250 and 150.)
TEST(Omission, EverySkippedMomentIsAdded) {
    const auto view = with_omitted({{0, 5}, {100, 450}, {500, 505}}, 100);
    EXPECT_EQ(view.latencies, (Values{5, 350, 250, 150, 50, 5}));
    EXPECT_EQ(view.added, 3u);
    EXPECT_EQ(view.unplaced, 0u);
}

// Late, but what came next was served in time to be slept to: a value above the interval alone adds
// nothing.
TEST(Omission, LateWithoutSkippingAddsNothing) {
    const auto view = with_omitted({{0, 150}, {100, 155}, {200, 201}}, 100);
    EXPECT_EQ(view.latencies, (Values{150, 55, 1}));
}

// It ran at 10, worked until after 200: how long the request of 100 waited isn't known.
TEST(Omission, MomentAfterTheThreadRanIsUnplaced) {
    const auto view = with_omitted({{0, 10}, {300, 305}}, 100);
    EXPECT_EQ(view.latencies, (Values{10, 5}));
    EXPECT_EQ(view.unplaced, 2u);
    const auto both = with_omitted({{0, 110}, {300, 305}}, 100);
    EXPECT_EQ(both.latencies, (Values{110, 10, 5}));
    EXPECT_EQ(both.unplaced, 1u);
}

TEST(Omission, LostSampleIsNoSkippedMoment) {
    const auto view = with_omitted({{0, 5}, {100, 0, false}, {200, 204}}, 100);
    EXPECT_EQ(view.latencies, (Values{5, 4}));
    EXPECT_EQ(view.unplaced, 0u);
    EXPECT_EQ(with_omitted({{100, 0, false}, {400, 404}}, 100).unplaced, 2u);
}

// Moments of slack and rounding: the grid is met to within a quarter.
TEST(Omission, GridIsMetRoughly) {
    const auto view = with_omitted({{2, 350}, {395, 400}}, 100);
    EXPECT_EQ(view.latencies, (Values{348, 248, 148, 48, 5}));
    EXPECT_EQ(view.added, 3u);
}

TEST(Omission, WithoutAGridOrSamples) {
    EXPECT_EQ(with_omitted({{0, 350}, {400, 401}}, 0).latencies, (Values{350, 1}));
    EXPECT_TRUE(with_omitted({}, 100).latencies.empty());
}

// Distances 1 1 8 1: n 4, sum of T-1 = 7, sum of (T-1)(T-2) = 42: theta = 2*49 / (4*42) = 0.5833.
TEST(Extremal, FerroSegersByHand) {
    Values block(12, 0);
    for (size_t at : {0, 1, 2, 10, 11}) block[at] = 9;
    const Clusters clusters = effective_clusters({&block}, 5);
    EXPECT_EQ(clusters.exceedances, 5u);
    EXPECT_NEAR(clusters.effective, 5 * 98.0 / 168, 1e-12);
}

// Distances 2 1: 2 * 9 / (2 * 5) is above 1.
TEST(Extremal, ShortDistances) {
    const Values block = {9, 0, 9, 9};
    EXPECT_DOUBLE_EQ(effective_clusters({&block}, 5).effective, 3);
}

TEST(Extremal, FewOrNone) {
    const Values none = {1, 2}, one = {9, 1};
    EXPECT_DOUBLE_EQ(effective_clusters({&none}, 5).effective, 0);
    EXPECT_DOUBLE_EQ(effective_clusters({&none, &one}, 5).effective, 1);
    // Blocks are parted by swaps: distances across them say nothing.
    EXPECT_DOUBLE_EQ(effective_clusters({&one, &one}, 5).effective, 2);
}

TEST(Extremal, FindsTheSizeOfRuns) {
    std::mt19937_64 random(3);
    Values block;
    for (int i = 0; i < 400; ++i) {
        block.insert(block.end(), 5, 9);
        block.insert(block.end(), 1 + size_t(std::exponential_distribution<>(0.005)(random)), 0);
    }
    EXPECT_NEAR(effective_clusters({&block}, 5).effective, 400, 60);
    for (int64_t& ns : block) ns = random() % 50 == 0 ? 9 : 0;
    const Clusters single = effective_clusters({&block}, 5);
    EXPECT_NEAR(single.effective / double(single.exceedances), 1, 0.1);
}

}  // namespace
}  // namespace fairswitch
