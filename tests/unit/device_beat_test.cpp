#include <gtest/gtest.h>
#include <unistd.h>

#include "userspace/base/beat.h"

namespace fairswitch {
namespace {

using namespace std::chrono_literals;

BeatClock::time_point at(std::chrono::nanoseconds since_boot) {
    return BeatClock::time_point(since_boot);
}

TEST(Beat, IsTheNextMultipleOfThePeriod) {
    EXPECT_EQ(next_beat(20ms, at(0ns)), at(20ms));
    EXPECT_EQ(next_beat(20ms, at(1ns)), at(20ms));
    EXPECT_EQ(next_beat(20ms, at(20ms - 1ns)), at(20ms));
    // Never now: who waits in a loop would spin.
    EXPECT_EQ(next_beat(20ms, at(20ms)), at(40ms));
    EXPECT_EQ(next_beat(500ms, at(3'000'001us)), at(3500ms));
}

TEST(Beat, PollEndsThereAndNotBefore) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pollfd events[] = {{ends[0], POLLIN, 0}};
    const auto end = BeatClock::now() + 1500us;
    EXPECT_EQ(poll_until(events, end), 0);
    EXPECT_GE(BeatClock::now(), end);
    // An end that is past: asks, and returns.
    EXPECT_EQ(poll_until(events, BeatClock::time_point{}), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(poll_until(events, BeatClock::now() + 60s), 1);
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace fairswitch
