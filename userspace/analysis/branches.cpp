#include "userspace/analysis/branches.h"

#include <linux/sched.h>

#include <array>

namespace fairswitch {
namespace {

bool decided_with(const model::Record& record, uint32_t branches) {
    const auto* decision = std::get_if<model::Decision>(&record);
    return decision && decision->queue && (decision->queue->branches & branches);
}

bool dequeue_delayed(const model::Record& record) {
    return decided_with(record, FSW_BRANCH_DEQUEUE_DELAYED);
}

// At requeue, or when it goes to sleep.
bool lag_clamp(const model::Record& record) {
    if (const auto* requeue = std::get_if<model::Requeue>(&record))
        return requeue->branches & FSW_LAG_CLAMPED;
    const auto* delay = std::get_if<model::Delay>(&record);
    return delay && (delay->branches & FSW_LAG_CLAMPED);
}

bool requeue_clock(const model::Record& record) {
    const auto* requeue = std::get_if<model::Requeue>(&record);
    return requeue && (requeue->branches & FSW_LAG_CLOCK_UPDATED);
}

bool cancel_protection(const model::Record& record) {
    const auto* decision = std::get_if<model::Decision>(&record);
    return decision && decision->path == FSW_PATH_CANCEL_PREEMPT;
}

bool short_buddy(const model::Record& record) {
    return decided_with(record, FSW_BRANCH_BUDDY_CLEARED | FSW_BRANCH_BUDDY_NOMINATED);
}

// A task that is idle by its own policy is preempted in both positions.
bool hierarchical_idle(const model::Record& record) {
    const auto* decision = std::get_if<model::Decision>(&record);
    if (!decision || decision->path != FSW_PATH_IDLE_PREEMPT || !decision->curr) return false;
    const uint32_t flags = decision->curr->flags;
    const uint32_t policy = (flags >> FSW_ENTITY_POLICY_SHIFT) & 15;
    return (flags & FSW_ENTITY_EFFECTIVE_IDLE) && policy != SCHED_IDLE;
}

constexpr std::array kBranches = {
    VariantBranch{"dequeue-delayed", "dequeue-delayed taken", dequeue_delayed},
    VariantBranch{"lag-clamp", "lag-clamp raised a lag", lag_clamp},
    VariantBranch{"requeue-clock", "requeue-clock updated", requeue_clock},
    VariantBranch{"cancel-protection", "cancel-protection taken", cancel_protection},
    VariantBranch{"short-buddy", "short-buddy changed a hint", short_buddy},
    VariantBranch{"hierarchical-idle", "idle group preempted", hierarchical_idle},
};

}  // namespace

std::span<const VariantBranch> variant_branches() { return kBranches; }

}  // namespace fairswitch
