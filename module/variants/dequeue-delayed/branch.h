// The records in which dequeue-delayed took effect.
#pragma once

#include "userspace/analysis/branches.h"

namespace fairswitch::dequeue_delayed {

inline constexpr const char* kRow = "dequeue-delayed taken";

inline bool taken(const model::Record& record) {
    return decided_with(record, FSW_BRANCH_DEQUEUE_DELAYED);
}

}  // namespace fairswitch::dequeue_delayed
