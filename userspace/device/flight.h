// The collector's half of a flight recording: what of the frozen rings goes into the log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "userspace/device/ring_reader.h"

namespace fairswitch {

struct Flight {
    std::uint64_t latency_ns = 0;
    std::uint64_t before_ns = 0;
    std::uint64_t after_ns = 0;

    // What the kernel is told: whole milliseconds, upwards.
    std::uint32_t after_ms() const {
        return static_cast<std::uint32_t>((after_ns + 999'999) / 1'000'000);
    }
};

// "latency>1ms": the latency. Throws Failure (kUsage).
std::uint64_t parse_trigger(const std::string& text);
// "50ms", "200us", "1s". Throws Failure (kUsage) naming the option.
std::uint64_t parse_duration_ns(const std::string& text, const std::string& option);

// Hands out, by time, the records of all rings from from_ns on; in front of them Task records, of
// whatever time. Everything else is passed. Holds one record of each ring at a time.
void copy_window(const std::vector<RingReader*>& rings, std::uint64_t from_ns,
                 const RingReader::Sink& sink);
// Passes everything: rings that stopped without a trigger.
void pass_all(const std::vector<RingReader*>& rings);
// From when on all rings are whole: where something was overwritten since `before` (one sum for
// each ring), from its oldest record on. 0: nothing was.
std::uint64_t whole_from(const std::vector<RingReader*>& rings,
                         const std::vector<std::uint64_t>& before);
std::uint64_t overwritten_sum(const RingReader& ring);

}  // namespace fairswitch
