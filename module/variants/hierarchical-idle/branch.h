// The records in which hierarchical-idle took effect. A task that is idle by its own policy is
// preempted in both positions.
#pragma once

#include <linux/sched.h>

#include "userspace/analysis/branches.h"

namespace fairswitch::hierarchical_idle {

inline constexpr const char* kRow = "idle group preempted";

inline bool taken(const model::Record& record) {
    const auto* decision = std::get_if<model::Decision>(&record);
    if (!decision || decision->path != FSW_PATH_IDLE_PREEMPT || !decision->curr) return false;
    const uint32_t flags = decision->curr->flags;
    const uint32_t policy = (flags >> FSW_ENTITY_POLICY_SHIFT) & 15;
    return (flags & FSW_ENTITY_EFFECTIVE_IDLE) && policy != SCHED_IDLE;
}

}  // namespace fairswitch::hierarchical_idle
