#include "userspace/analysis/tally.h"

#include <algorithm>

#include "userspace/analysis/branches.h"

namespace fairswitch {

Tally::Tally(const std::vector<BlockResult>& blocks) {
    for (const BlockResult& result : blocks) {
        blocks_.push_back(result.block);
        arms_[result.block.arm].seconds += (result.block.end_ns - result.block.begin_ns) / 1e9;
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [](const Block& a, const Block& b) { return a.begin_ns < b.begin_ns; });
}

const ArmCounts& Tally::of(uint32_t arm) const {
    static const ArmCounts kNone;
    auto found = arms_.find(arm);
    return found == arms_.end() ? kNone : found->second;
}

ArmCounts* Tally::counts_at(const model::Stamp& stamp) {
    auto after = std::upper_bound(blocks_.begin(), blocks_.end(), stamp.time_ns,
                                  [](uint64_t time, const Block& b) { return time < b.begin_ns; });
    if (after == blocks_.begin() || stamp.time_ns >= std::prev(after)->end_ns) return nullptr;
    if (stamp.arm != std::prev(after)->arm) {
        ++mixed_;
        return nullptr;
    }
    return &arms_[stamp.arm];
}

void Tally::add(const model::Record& record) {
    if (const auto* decision = std::get_if<model::Decision>(&record)) {
        ArmCounts* counts = counts_at(decision->stamp);
        if (!counts) {
            ++outside_;
            return;
        }
        this->decision(*decision, *counts);
        count_branches(record, *counts);
    }
    if (const auto* brief = std::get_if<model::Brief>(&record)) {
        ArmCounts* counts = counts_at(brief->stamp);
        if (!counts) {
            ++outside_;
            return;
        }
        ++counts->briefs;
        this->decision(model::as_decision(*brief), *counts);
        count_branches(record, *counts);
    }
    if (const auto* requeue = std::get_if<model::Requeue>(&record)) {
        if (requeue->entity && requeue->entity->pid)
            end_delay(requeue->entity->pid, requeue->stamp);
        if (ArmCounts* counts = counts_at(requeue->stamp)) {
            this->requeue(*requeue, *counts);
            count_branches(record, *counts);
        }
    }
    if (const auto* delay = std::get_if<model::Delay>(&record)) {
        if (delay->entity && delay->entity->pid) {
            if (delay->verdict == FSW_DELAY_DELAYED) begin_delay(delay->entity->pid, delay->stamp);
            if (delay->verdict == FSW_DELAY_FINISHED) end_delay(delay->entity->pid, delay->stamp);
        }
        if (ArmCounts* counts = counts_at(delay->stamp)) {
            this->delay(*delay, *counts);
            count_branches(record, *counts);
        }
    }
}

void Tally::count_branches(const model::Record& record, ArmCounts& counts) {
    for (const VariantBranch& branch : variant_branches())
        if (branch.taken(record)) ++counts.taken[branch.id];
}

void Tally::decision(const model::Decision& decision, ArmCounts& counts) {
    ++counts.decisions;
    counts.preempts += decision.verdict == FSW_VERDICT_PREEMPT;
    ++counts.paths[decision.path & 15];
    if (!decision.queue) return;
    counts.delayed_picked += (decision.queue->branches & FSW_BRANCH_DELAYED_PICKED) != 0;
}

void Tally::requeue(const model::Requeue& requeue, ArmCounts& counts) {
    ++counts.requeues;
    counts.stale_clocks += requeue.curr_stale_ns > 0;
}

void Tally::delay(const model::Delay& delay, ArmCounts& counts) {
    counts.delayed += delay.verdict == FSW_DELAY_DELAYED;
}

void Tally::begin_delay(uint32_t pid, const model::Stamp& stamp) {
    auto found = delayed_.find(pid);
    if (found != delayed_.end() && found->second.is_end && found->second.time_ns > stamp.time_ns) {
        if (found->second.arm != stamp.arm) ++arms_[found->second.arm].carried_over;
        delayed_.erase(found);
        return;
    }
    delayed_[pid] = {stamp.time_ns, stamp.arm, false};
}

void Tally::end_delay(uint32_t pid, const model::Stamp& stamp) {
    auto found = delayed_.find(pid);
    if (found == delayed_.end() || found->second.is_end) {
        delayed_[pid] = {stamp.time_ns, stamp.arm, true};
        return;
    }
    if (found->second.arm != stamp.arm) ++arms_[stamp.arm].carried_over;
    delayed_.erase(found);
}

}  // namespace fairswitch
