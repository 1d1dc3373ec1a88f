// A measuring load of our own: threads that sleep to absolute moments, work a while, and tell when
// they were expected and when they ran.
//
//   expected        ran         ready to sleep
//   |--- latency ---|--- busy ---|          |   next moment of the grid that is still ahead
//   +--------- interval ---------+----------+
//
// A thread that comes back too late for a moment can't sleep to it: that period is skipped, and
// said to be. cyclictest does the same without a word.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <vector>

#include "userspace/workload/task_attributes.h"

namespace fairswitch {

struct WakerOptions {
    uint32_t threads = 1;
    uint64_t interval_ns = 1'000'000;
    uint64_t busy_ns = 0;            // of wall-clock time, or of its own CPU time
    bool busy_is_cpu_time = false;
    double seconds = 0;              // 0: until told to stop
    TaskAttributes attributes;
    std::optional<uint64_t> slack_ns;  // nothing: as inherited
    std::vector<int> cpus;             // thread n runs on cpus[n mod size]; empty: anywhere
};

// Runs until the time is over or `stop` is set, and prints to `out` what waker_text.h describes.
// The printing thread is the caller's and runs as that was; only the measuring threads get the
// attributes. Throws Failure when the kernel refuses these.
void run_waker(const WakerOptions& options, const std::atomic<bool>& stop, std::ostream& out);

}  // namespace fairswitch
