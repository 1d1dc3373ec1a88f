// Counts per arm over the blocks: what the deciding code did, and how often each variant's branch
// was taken. Memory is constant, whatever the log's length.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/join.h"
#include "userspace/log/model.h"

namespace fairswitch {

struct ArmCounts {
    double seconds = 0;  // of its blocks
    uint64_t decisions = 0;
    uint64_t briefs = 0;  // of these, without entities: what they would have told isn't known
    uint64_t preempts = 0;
    std::array<uint64_t, 16> paths{};       // by enum fsw_path
    std::map<std::string, uint64_t> taken;  // by variant: how often its branch was taken
    uint64_t delayed_picked = 0;            // the last pick was delayed
    uint64_t requeues = 0;
    uint64_t stale_clocks = 0;  // requeues with curr's clock stale when the lag was computed
    uint64_t delayed = 0;       // entities that stayed queued when they went to sleep
    // Entities delayed under another arm that were requeued or left under this one.
    uint64_t carried_over = 0;
};

class Tally {
  public:
    explicit Tally(const std::vector<BlockResult>& blocks);

    void add(const model::Record& record);
    // Another recording: what was delayed when the last one ended is forgotten.
    void begin_part() { delayed_.clear(); }

    const std::map<uint32_t, ArmCounts>& arms() const { return arms_; }
    const ArmCounts& of(uint32_t arm) const;
    uint64_t outside() const { return outside_; }  // decisions in no block
    // Records in a block with another arm than the block's: must be 0 with guards long enough.
    uint64_t mixed() const { return mixed_; }

  private:
    // Where a delayed entity stands; its end can come first in the file, from another ring.
    struct DelayedEntity {
        uint64_t time_ns = 0;
        uint32_t arm = 0;
        bool is_end = false;
    };

    void count_branches(const model::Record& record, ArmCounts& counts);
    ArmCounts* counts_at(const model::Stamp& stamp);
    void decision(const model::Decision& decision, ArmCounts& counts);
    void requeue(const model::Requeue& requeue, ArmCounts& counts);
    void delay(const model::Delay& delay, ArmCounts& counts);
    void begin_delay(uint32_t pid, const model::Stamp& stamp);
    void end_delay(uint32_t pid, const model::Stamp& stamp);

    std::vector<Block> blocks_;  // by time
    std::map<uint32_t, ArmCounts> arms_;
    std::map<uint32_t, DelayedEntity> delayed_;  // by pid
    uint64_t outside_ = 0;
    uint64_t mixed_ = 0;
};

}  // namespace fairswitch
