// Which wakeup a cyclictest sample belongs to, when samples carry no time.
//
// cyclictest numbers its samples by the times it slept; a thread that is watched leaves one timer
// wakeup per sleep. So cycle = wakeup + shift, with one shift for the whole run, as long as nothing
// was lost. The shift isn't assumed but found and checked: a sample's latency is read shortly after
// the thread was switched in, so
//
//     0 <= latency - (switched in - expected) <= a small bound
//
// must hold (-2 us for truncation). The shift that fits the first wakeups best is taken; the bound
// is then derived from what the fitting ones needed. From there on every sample is checked. Where
// it doesn't fit and another shift explains the following samples, the join is realigned there, and
// the samples just before, which fit both, are marked unsure. A sample that was read later than the
// bound allows, but whose neighbours are in step, belongs where it stands.
#pragma once

#include <cstdint>
#include <vector>

#include "userspace/analysis/cyclictest.h"

namespace fairswitch {

// Times after the expected moment at which the thread was switched in, before its next wakeup.
// Several: it was preempted before it went to sleep again.
struct WakeFloors {
    std::vector<int64_t> ns;
};

enum class Fit : uint8_t {
    kNoWake,    // no record of its wakeup
    kUnsure,    // next to a realignment
    kContrary,  // its latency contradicts the records
    kJoined,
};

struct Alignment {
    bool found = false;      // no shift explains the samples: nothing is joined
    bool ambiguous = false;  // another shift explains them as well: the latencies hardly differ
    int64_t shift = 0;       // cycle - wakeup, at the start
    uint64_t realigned = 0;
    int64_t bound_ns = 0;      // switched in → clock read, at most
    std::vector<Fit> fit;      // per sample
    std::vector<size_t> wake;  // per sample, meaningful unless kNoWake
};

// `most_lost`: as many wakeups can be missing from the records in one stretch.
Alignment align(const std::vector<CyclicSample>& samples, const std::vector<WakeFloors>& wakes,
                uint64_t most_lost = 0);

}  // namespace fairswitch
