// Records of each runqueue in the order in which they were made.
//
// A log has the records of several rings, drained one after the other, and several CPUs write about
// one runqueue: Stamp.seq, which counts a runqueue's records without a gap, orders them. What comes
// early waits until the numbers before it have come. A number that was lost never comes, so the
// number of waiting records is bounded; where it is reached, the gap is skipped and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "userspace/log/model.h"

namespace fairswitch {

class RunqueueOrder {
  public:
    using Sink = std::function<void(const model::Record& record)>;

    // `first_seq`: the lowest number of each runqueue in the log. `most_waiting`: more than the
    // rings hold together, or records are taken for lost that are only late.
    RunqueueOrder(std::map<uint32_t, uint64_t> first_seq, size_t most_waiting, Sink sink);

    // Records without a number are passed over.
    void add(const model::Record& record);
    // The log has ended: what waits still comes out.
    void finish();

    // Numbers of that runqueue skipped so far.
    uint64_t skipped(uint32_t rq_cpu) const;

  private:
    struct Runqueue {
        uint64_t next = 0;
        uint64_t skipped = 0;
        std::multimap<uint64_t, model::Record> waiting;  // by seq
    };

    void hand_out(Runqueue& runqueue);
    void skip_gap(Runqueue& runqueue);
    Runqueue& fullest();

    const std::map<uint32_t, uint64_t> first_seq_;
    const size_t most_waiting_;
    const Sink sink_;
    std::map<uint32_t, Runqueue> runqueues_;
    size_t waiting_ = 0;
};

}  // namespace fairswitch
