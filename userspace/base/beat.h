// Waits that end at multiples of a period on the monotonic clock, not a period after they began.
// What a program did before, and how long it took, then doesn't show in when it wakes: two replays
// that differ there are in step again.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace fairswitch {

using BeatClock = std::chrono::steady_clock;

inline BeatClock::time_point next_beat(std::chrono::nanoseconds period,
                                       BeatClock::time_point now = BeatClock::now()) {
    return now + period - now.time_since_epoch() % period;
}

// As poll(), whose limit is in whole milliseconds from now on.
template <std::size_t count>
int poll_until(pollfd (&events)[count], BeatClock::time_point end) {
    const std::chrono::nanoseconds left =
        std::max(end - BeatClock::now(), BeatClock::duration::zero());
    const timespec limit{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    return ::ppoll(events, count, &limit, nullptr);
}

}  // namespace fairswitch
