// The records in which short-buddy took effect.
#pragma once

#include "userspace/analysis/branches.h"

namespace fairswitch::short_buddy {

inline constexpr const char* kRow = "short-buddy changed a hint";

inline bool taken(const model::Record& record) {
    return decided_with(record, FSW_BRANCH_BUDDY_CLEARED | FSW_BRANCH_BUDDY_NOMINATED);
}

}  // namespace fairswitch::short_buddy
