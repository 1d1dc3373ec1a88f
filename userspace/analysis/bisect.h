// Which switch, or pair of switches, brings the change between base and everything turned.
//
//   detect    all against base                        is there a change at all?
//   search    halves, with what is needed kept on     whom does it point to?
//   confirm   fresh blocks of the suspects alone      is that so?
//
// The search is Zeller's delta debugging (1999, "Yesterday, my program worked. Today, it does not.
// Why?"): if one half of the suspects carries the change, go on in it; if neither does, the change
// needs both halves, so look for what is needed of the one with all of the other on, and the other
// way round. That is a bisection for a single cause, and finds pairs that act only together, add
// up, or of which one takes back part of what the other does.
//
// A half carries the change if its difference from base is 0.75 to 1.5 times that of all suspects,
// measured in the same rounds, in 95 of 100 bootstrap samples of the rounds. Neither carries it if
// both differ from all suspects, in a randomisation test. More rounds are run until one of these is
// so, at most `most_batches` batches; then the likelier half is gone into,
// or both if neither is likely.
//
// The error rate is that of what is said at the end, and is spent in three equal parts:
//  - detect: a change is seen where none is;
//  - search: "it takes both halves" is said at one of at most bisect_steps() steps though one half
//    is enough. "Not one or two of these" is only said after two such steps, and never when a
//    step had to guess;
//  - confirm: a switch is named in vain, that is, makes no difference beside the others named. It
//    sees no block of the search, so whatever that did: one switch needs a difference from base,
//    two need one from base and from each of them alone, all at the level (an intersection-union
//    test: Berger 1982, "Multiparameter hypothesis testing and acceptance sampling"). There are at
//    most two confirmations, each with half of the part.
// Inside a step alpha is spent over the batches as stop.h does. How often a true culprit is
// *missed* (no change seen, or not confirmed) depends on the data.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

using SwitchSet = std::vector<size_t>;  // indices of the switches that are turned, rising

// Measures further rounds of one block of base and one of every arm, in drawn order (schedule.h).
// Returns the pairs (base, arm) by arm; pairs of one round share the base's block.
using MeasureArms = std::function<std::vector<std::vector<BlockPair>>(
    const std::vector<SwitchSet>& arms, size_t rounds)>;

struct BisectOptions {
    Metric metric = Metric::kP99;
    double error_rate = kAlpha;
    size_t batch = kMinPairs;  // rounds; at least kMinPairs
    size_t most_batches = 6;   // of every step
    size_t flips = kRandomFlips;
};

enum class BisectAnswer {
    kNoChange,     // between base and all turned
    kCulprits,     // one or two
    kNotThese,     // there is a change, but it takes more than two switches
    kUnconfirmed,  // fresh data didn't confirm `culprits`; none: the search couldn't tell
};

struct BisectArm {
    SwitchSet turned;
    std::optional<double> percent;  // difference from base
    double p = 1;                   // of that difference
};

struct BisectStep {
    enum class Kind { kDetect, kSearch, kConfirm };
    Kind kind = Kind::kSearch;
    std::vector<BisectArm> arms;
    size_t rounds = 0;
    double level = 0;  // alpha of the last look
    std::string conclusion;
};

struct BisectResult {
    BisectAnswer answer = BisectAnswer::kNoChange;
    SwitchSet culprits;
    std::optional<double> percent;     // the culprits' difference from base, on fresh data
    std::optional<Interval> interval;  // where interval.h gives one
    std::vector<BisectArm> alone;      // of two culprits, each by itself
    std::vector<BisectStep> steps;
    size_t rounds = 0;  // run in all
};

// Throws Failure (kUsage) for options that can't work.
BisectResult bisect(size_t switches, const BisectOptions& options, const MeasureArms& measure);

// The most steps of the search, and the most rounds that bisect() can ask for.
size_t bisect_steps(size_t switches);
size_t bisect_rounds(size_t switches, const BisectOptions& options);

// The answer, and the evidence step by step, for people.
std::string bisect_text(const BisectResult& result, const BisectOptions& options,
                        const std::vector<std::string>& names);

}  // namespace fairswitch
