// What a plan can see: the probability that a table tells a halved tail from its base.
//
// Assumptions, stated because the answer depends on them. The base's P99.9 is 1 ms, so that one
// sample in a thousand is above. Late samples are those above 0.4 ms, Pareto with exponent 2; they
// come in runs of geometric length whose values resemble each other, and a block's number of runs
// is Poisson with a gamma-distributed factor of the block's own. Arms differ either in the values
// (all late ones halved, P99.9 with them) or in the number of runs (halved, and the share above
// 1 ms with it). The test is stats.h's, at the level of the most significant row: alpha / rows of
// the table. Two structures are tabulated:
//
//     kMild       runs of 4,  variation between blocks 0.5
//     kRealistic  runs of 10, variation between blocks 1.0 (blocks differ by their whole mean)
//
// Power comes from simulation; power_table.inc is written by `make_power_table`. Between its points
// it is interpolated in the logarithms of rounds and exceedances. Of plans outside of it is told that
// they see at least, or at most, what the nearest plan inside sees; to simulate them takes minutes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

struct TailStructure {
    double run = 10;      // mean length of a run of late samples
    double block_cv = 1;  // variation of their number between blocks
    bool operator==(const TailStructure&) const = default;
};
constexpr TailStructure kMild{4, 0.5};
constexpr TailStructure kRealistic{10, 1.0};

enum class TailEffect { kHalvedValues, kHalvedShare };

struct PowerPlan {
    size_t rounds = 10;
    double block_seconds = 1;
    double rate_hz = 360;  // samples a second, all measuring threads together
    size_t compared_arms = 1;
    TailStructure structure = kRealistic;

    double samples_per_block() const { return block_seconds * rate_hz; }
    double exceedances_per_block() const { return samples_per_block() / 1000; }  // beyond P99.9
    double level() const;  // that p has to stay below
};

// p of the effect's row in each of `tables` made-up tables; 1 stands for anything above `give_up`.
// All flips of the labels up to kExactPowerRounds, else `flips` of them.
constexpr size_t kExactPowerRounds = 12;
std::vector<double> simulate_p(const PowerPlan& plan, TailEffect effect, size_t tables,
                               size_t flips, uint64_t seed, double give_up);

double simulate_power(const PowerPlan& plan, TailEffect effect, size_t tables, size_t flips,
                      uint64_t seed);

// From the table where the plan is inside of it; else nothing.
std::optional<double> tabulated_power(const PowerPlan& plan, TailEffect effect);

// Power grows with rounds and exceedances and falls with the number of arms.
enum class Bound { kExact, kAtLeast, kAtMost, kUnknown };
struct Power {
    double value = 0;  // of the nearest plan in the table
    Bound bound = Bound::kExact;
};
Power power(const PowerPlan& plan, TailEffect effect);

// For people, before a run: "this plan sees a halved P99.9 with probability 0.43; 20 rounds would
// see it with 0.81". Further rounds are looked for among those of the table.
std::string power_sentence(const PowerPlan& plan);

}  // namespace fairswitch
