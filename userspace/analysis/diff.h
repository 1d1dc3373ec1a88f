// Two recorded runs that differ only in the arm: the first decision that differs, on each runqueue.
//
// In a replay (the lab's virtual clock) everything up to the first effect of the arm is the same,
// except time: the clock counts instructions, and a gate that is taken executes others. So
// decisions are compared by content: wakee, curr, path, verdict, who was picked, and their order on
// the runqueue. How far the clocks are apart is told beside it.
//
// Both logs are read twice and never held: survey() for what is said of a whole log, then diff(),
// which stops where every runqueue has parted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/analysis/late.h"
#include "userspace/log/model.h"
#include "userspace/log/validity.h"

namespace fairswitch {

// The next record in the order of the log; false at its end.
using RecordSource = std::function<bool(model::Record& record)>;

using PathCounts = std::array<uint64_t, 16>;  // by enum fsw_path

// What one reading of a log tells.
struct Survey {
    struct Runqueue {
        uint64_t first_seq = 0;
        uint64_t decisions = 0;
    };
    struct Loss {
        uint64_t first_ns = 0;
        uint64_t records = 0;
    };

    std::map<uint32_t, Runqueue> runqueues;  // by CPU
    PathCounts paths{};
    uint64_t decisions = 0;
    std::set<uint32_t> pids;                // wakees
    std::map<uint32_t, std::string> names;  // by pid
    std::map<uint32_t, uint64_t> arms;      // decisions made under each
    std::vector<Loss> losses;
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    uint64_t briefs = 0;   // decisions without entities: nothing to compare
    bool watched = false;  // some thread's wakeups were recorded
    LateList late_ones;
    uint64_t late = 0;
    uint64_t wakeups = 0;

    uint64_t decisions_on(uint32_t rq_cpu) const;
    uint64_t lost_until(uint64_t time_ns) const;
    // The first that was still waiting then; null if there is none.
    const LateWakeup* first_late(uint64_t time_ns) const;
};
Survey survey(const RecordSource& next, int64_t late_ns);

// What is compared.
bool same_content(const model::Decision& a, const model::Decision& b);

enum class Parting {
    kNone,        // not at all, as far as both go
    kContent,     // the decisions themselves differ
    kMissingInA,  // B made decisions that A didn't make; what follows them is equal
    kMissingInB,
};

// How far B's clock is ahead of A's at equal decisions.
struct Skew {
    struct Point {
        uint64_t number = 0;  // of the decision, from 1
        int64_t ns = 0;
    };
    std::vector<Point> points;  // decisions 1, 10, 100, …
    int64_t last_ns = 0;        // at the last one in common
    int64_t first_step_ns = 0;  // and how much that was
    uint64_t first_change = 0;  // number of the first at which it wasn't as before; 0: none
    uint64_t changes = 0;

    void add(uint64_t number, int64_t ns);
};

constexpr size_t kMostVariants = 32;  // positions are bits of a word
// How often each variant's branch was taken, in the order of variant_branches().
using Taken = std::array<uint32_t, kMostVariants>;

// One log's side of a runqueue.
struct DiffSide {
    std::optional<model::Decision> decision;  // that differs, or that the other side lacks
    Taken before{};                           // branches taken up to the decision before it …
    Taken between{};                          // … between that and this one, and in this one
    uint64_t first_taken = 0;  // number of the decision at or before which one was first taken
    uint64_t more = 0;         // decisions behind the last one compared
    uint64_t skipped = 0;      // sequence numbers missing before
    uint64_t head_start = 0;   // decisions made before the other side's recording began
};

struct RunqueueDiff {
    uint32_t rq_cpu = 0;
    uint64_t common = 0;          // equal decisions before it
    uint64_t last_common_ns = 0;  // when A made the last of them
    Parting parting = Parting::kNone;
    uint64_t missing = 0;  // decisions that the other side lacks
    DiffSide a;
    DiffSide b;
    Skew skew;

    uint64_t parted_ns() const;  // of the side that came to it first
};

struct Diff {
    std::vector<RunqueueDiff> runqueues;  // by CPU
    PathCounts common_paths{};
    uint64_t common = 0;

    // The runqueue that parted first; null if none did.
    const RunqueueDiff* first() const;
};

// Why a runqueue parted.
enum class PartingCause {
    kBranch,         // in the decision, or on the way to it, one side took a variant's branch
    kEarlierBranch,  // one side took more of them before, on some runqueue: states differ since
    kSkew,           // neither: the clock alone, whose shift tips a close decision
};
PartingCause parting_cause(const Diff& diff, const RunqueueDiff& parted);

// `most_waiting`: see RunqueueOrder.
Diff diff(const RecordSource& next_a, const Survey& a, const RecordSource& next_b, const Survey& b,
          size_t most_waiting);

}  // namespace fairswitch
