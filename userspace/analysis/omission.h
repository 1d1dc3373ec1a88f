// Coordinated omission: a thread that is late skips the moments that passed meanwhile, so the worst
// stretches have the fewest samples.
//
//   due      m0       m1       m2       m3       m4
//             |--------|--------|--------|--------|
//             |<------ latency of m0 ------>| ran      m1, m2: skipped, no samples
//                      |<---- added ------->|
//                               |<- added ->|
//
// The corrected view adds what a request due at a skipped moment would have waited: until the
// thread ran at last. That is Gil Tene's method ("How NOT to measure latency"; HdrHistogram's
// recordValueWithExpectedInterval), with one difference: there the skipped moments are guessed from
// a value and the interval, and a remainder shorter than the interval isn't added. Here the grid
// tells which moments were skipped, so each of them is added, whatever it waited, and nothing else.
//
// A moment that was skipped though the thread had run before it (the thread was kept from sleeping
// again in time) waited for an unknown while: it is counted as `unplaced` and not added.
//
// The same holds after a moment whose sample was lost: the thread did wake, but nobody knows when.
//
// The view stands beside the raw one, never instead.
#pragma once

#include <cstdint>
#include <vector>

namespace fairswitch {

// A moment that the thread was woken for.
struct Served {
    int64_t expected_ns = 0;
    int64_t ran_ns = 0;
    bool sampled = true;  // else `ran_ns` isn't known
};

struct OmissionView {
    std::vector<int64_t> latencies;  // raw ones and added ones, in order of the moments
    uint64_t added = 0;
    uint64_t unplaced = 0;
};

// `served` of one thread, in order of time; its moments lie on one grid of `interval_ns`, to within
// a quarter of it. 0: no grid is known, nothing is added.
OmissionView with_omitted(const std::vector<Served>& served, int64_t interval_ns);

}  // namespace fairswitch
