#include "userspace/analysis/runqueue_order.h"

#include <algorithm>
#include <utility>

namespace fairswitch {

RunqueueOrder::RunqueueOrder(std::map<uint32_t, uint64_t> first_seq, size_t most_waiting, Sink sink)
    : first_seq_(std::move(first_seq)), most_waiting_(most_waiting), sink_(std::move(sink)) {
    for (const auto& [cpu, seq] : first_seq_) runqueues_[cpu].next = seq;
}

void RunqueueOrder::add(const model::Record& record) {
    const model::Stamp* stamp = model::stamp_of(record);
    if (!stamp || stamp->seq == 0) return;
    Runqueue& runqueue = runqueues_[stamp->rq_cpu];
    // A number twice, or one that was given up: it comes where it is met, no order is known.
    if (stamp->seq <= runqueue.next) {
        sink_(record);
        if (stamp->seq == runqueue.next) {
            ++runqueue.next;
            hand_out(runqueue);
        }
        return;
    }
    runqueue.waiting.emplace(stamp->seq, record);
    ++waiting_;
    while (waiting_ > most_waiting_) skip_gap(fullest());
}

void RunqueueOrder::hand_out(Runqueue& runqueue) {
    while (!runqueue.waiting.empty()) {
        const auto first = runqueue.waiting.begin();
        if (first->first > runqueue.next) return;
        sink_(first->second);
        runqueue.next = first->first + 1;
        runqueue.waiting.erase(first);
        --waiting_;
    }
}

void RunqueueOrder::skip_gap(Runqueue& runqueue) {
    const uint64_t reached = runqueue.waiting.begin()->first;
    runqueue.skipped += reached - runqueue.next;
    runqueue.next = reached;
    hand_out(runqueue);
}

RunqueueOrder::Runqueue& RunqueueOrder::fullest() {
    return std::max_element(runqueues_.begin(), runqueues_.end(),
                            [](const auto& a, const auto& b) {
                                return a.second.waiting.size() < b.second.waiting.size();
                            })
        ->second;
}

void RunqueueOrder::finish() {
    for (auto& [cpu, runqueue] : runqueues_)
        while (!runqueue.waiting.empty()) skip_gap(runqueue);
}

uint64_t RunqueueOrder::skipped(uint32_t rq_cpu) const {
    const auto found = runqueues_.find(rq_cpu);
    return found == runqueues_.end() ? 0 : found->second.skipped;
}

}  // namespace fairswitch
