// What cyclictest prints, read tolerantly.
//
// Three forms, which may be mixed in one output:
//   -v            `       0:      17:     103`   thread : cycle : latency
//   summary       `T: 0 ( 5634) P: 0 I:2777 C:    300 Min:     14 Act:   65 Avg:   68 Max:     108`
//   -h / -H       `# Histogram`, lines `000024 000002 …`, then `# Histogram Overflows: 00295`
//
// What it doesn't print matters as much:
//  - no time stamps: samples are numbered by cycle, and a period that the thread slept or waited
//    through is skipped without a number (see join.h);
//  - -v goes through a buffer of 16384 values that the printing thread empties every 10 ms; the
//    last samples before the end are never printed, and a starved printer prints overwritten
//    values;
//  - a histogram leaves every latency at or above its limit out of its table, average and maximum
//    of the table included: the overflow count is part of the result;
//  - an unknown --policy becomes SCHED_OTHER without a word;
//  - with -v, `Thread 0 Interval:` is printed after the distance (500 us) was added for the next
//    thread: thread 0 really runs at -i.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

struct CyclicSample {
    uint32_t thread = 0;
    uint64_t cycle = 0;
    int64_t latency_ns = 0;
    int64_t expected_ns = 0;  // CLOCK_MONOTONIC; 0: the program told no time, as cyclictest
};

// Values as printed: microseconds, or nanoseconds under -N.
struct CyclicSummary {
    uint32_t thread = 0;
    uint32_t tid = 0;
    int32_t priority = 0;
    uint64_t interval_us = 0;
    uint64_t cycles = 0;
    int64_t min = 0;
    int64_t act = 0;
    int64_t avg = 0;
    int64_t max = 0;
};

struct CyclicHistogram {
    std::map<int64_t, std::vector<uint64_t>> counts;  // value -> count per thread
    std::vector<uint64_t> totals;                     // as printed, overflows excluded
    std::vector<uint64_t> overflows;                  // at or above the limit, per thread
    uint64_t counted(size_t thread) const;            // sum over the table
};

// The options of a measuring program's command line that change how its output is to be read:
// cyclictest's, or those of `fairswitch waker`, which always prints each sample with its times.
struct CyclicCommand {
    uint64_t interval_us = 1000;
    uint32_t threads = 1;
    bool nanoseconds = false;  // -N
    bool verbose = false;      // -v
    bool relative = false;     // -r: periods aren't absolute, no expected times
    uint32_t reduction = 1;    // -o: only every nth value, the largest, is printed
    std::string policy = "other";
    std::vector<std::string> notes;  // what a reader of the result has to know

    static CyclicCommand parse(const std::vector<std::string>& words);
    static CyclicCommand parse(std::string_view line);
};

struct CyclicOutput {
    std::vector<CyclicSample> samples;
    std::vector<CyclicSummary> summaries;  // the last one of each thread
    std::optional<CyclicHistogram> histogram;
    uint64_t unparsed_lines = 0;  // neither of the forms above nor a known remark
    std::string first_unparsed;
    uint64_t cycle_gaps = 0;     // cycles that were counted but not printed
    uint64_t cycle_repeats = 0;  // cycles printed twice or out of order

    static CyclicOutput parse(std::istream& in, const CyclicCommand& command = {});
    // Samples of one thread, in order of printing.
    std::vector<CyclicSample> of_thread(uint32_t thread) const;
};

}  // namespace fairswitch
