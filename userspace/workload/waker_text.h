// What `fairswitch waker` prints, one line a fact, all times in ns of CLOCK_MONOTONIC:
//
//   # fairswitch waker 1
//   # thread 0 tid 431 policy other nice 0 priority 0 slice_ns 2800000 slack_ns 50000
//   # thread 0 interval_ns 1000000 busy_ns 200000
//   0 17 120017000000 120017057311     thread, period, expected to run, ran
//   skip 0 18 2                        thread 0 came back too late for the 2 periods from 18 on
//   dropped 0 3                        3 samples of thread 0 found the printer's queue full
//   end 0 slept 14998 skipped 2 dropped 3
//
// Periods are numbered from the thread's start and every one of them is in exactly one of these
// lines, so that none is ever missing silently.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace fairswitch {

constexpr const char* kWakerHead = "# fairswitch waker 1";

struct WakerSample {
    uint32_t thread = 0;
    uint64_t period = 0;
    int64_t expected_ns = 0;
    int64_t ran_ns = 0;
};

struct WakerEnd {
    uint32_t thread = 0;
    uint64_t slept = 0;
    uint64_t skipped = 0;
    uint64_t dropped = 0;
};

std::string waker_line(const WakerSample& sample);
std::string waker_skip_line(uint32_t thread, uint64_t first, uint64_t count);
std::string waker_dropped_line(uint32_t thread, uint64_t count);
std::string waker_end_line(const WakerEnd& end);

struct WakerOutput {
    std::vector<WakerSample> samples;
    uint64_t skipped = 0;
    uint64_t dropped = 0;
    std::vector<WakerEnd> ends;  // none of a thread whose run was cut short
    uint64_t unparsed_lines = 0;
    std::string first_unparsed;

    // True if this is such an output, by its first line. The stream is where it was afterwards.
    static bool is_one(std::istream& in);
    static WakerOutput parse(std::istream& in);
};

}  // namespace fairswitch
