// The order of an experiment's blocks: rounds of one block per arm, the order inside each round
// drawn anew. That draw is what the randomisation test rests on (stats.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairswitch {

// For each round the indices of the arms in the order to run. The same seed gives the same order
// on every machine.
std::vector<std::vector<size_t>> draw_order(size_t arms, size_t rounds, uint64_t seed);

}  // namespace fairswitch
