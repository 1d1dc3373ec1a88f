// The A/B table: a model first, then its rendering for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "userspace/analysis/extremal.h"
#include "userspace/analysis/join.h"
#include "userspace/analysis/stats.h"
#include "userspace/analysis/story.h"
#include "userspace/analysis/tally.h"

namespace fairswitch {

struct ArmColumn {
    uint32_t arm = 0;
    std::string name;
    std::vector<int64_t> sorted;  // latencies
    std::vector<int64_t> in_order;
    size_t blocks = 0;
    uint64_t expected = 0;
    uint64_t unprinted = 0;
    uint64_t missed = 0;  // expected periods that brought no sample
    ArmCounts counts;
    std::optional<double> switches_per_second;  // context switches of the machine
    std::vector<uint64_t> late_causes;          // above 1 ms, by Cause
    // Beside the raw samples: those of skipped periods too, sorted (omission.h). Empty: not known,
    // because samples without a moment would look like skipped periods.
    std::vector<int64_t> with_omitted;
    uint64_t omitted_added = 0;
    uint64_t omitted_unplaced = 0;
    std::map<Metric, Clusters> clusters;  // beyond P99, P99.9 and above each threshold
};

struct SwapTimes {
    uint64_t swaps = 0;
    uint64_t longest_ns = 0;  // first to last runqueue
    uint64_t median_ns = 0;
    uint64_t delayed_in_flight = 0;  // sum over swaps
};

struct Table {
    std::vector<std::string> warnings;  // printed first: what makes the result doubtful
    std::vector<ArmColumn> columns;     // the first is what the others are compared with
    size_t pairs = 0;                   // rounds in which every arm has a block
    std::vector<std::vector<Comparison>> comparisons;  // of columns 1.. with column 0
    std::vector<std::string> variants;                 // that the log knows; empty: it doesn't tell
    SwapTimes swaps;
    uint64_t records_lost = 0;
    uint64_t mixed_records = 0;
    Join const* join = nullptr;  // for its leftovers; outlives the table
    std::vector<std::string> notes;
    std::string load;  // what the load did
    double alpha = kAlpha;  // of the verdicts: what tables before this one have left
};

struct TableInput {
    const Evidence& evidence;
    const Join& join;
    const Tally& tally;
    const DecisionStore& decisions;
    const std::map<uint32_t, std::string>& arm_names;
    const Experiment* plan = nullptr;
    uint64_t lost_untold = 0;  // records dropped that no Lost record tells of
};

Table build_table(const TableInput& input);

// At most 100 columns wide for up to four arms.
std::string render_text(const Table& table);

}  // namespace fairswitch
