// The records in which cancel-protection took effect.
#pragma once

#include "userspace/analysis/branches.h"

namespace fairswitch::cancel_protection {

inline constexpr const char* kRow = "cancel-protection taken";

// The path alone tells.
inline constexpr bool kBriefTells = true;

inline bool taken(const model::Record& record) {
    if (const auto* brief = std::get_if<model::Brief>(&record))
        return brief->path == FSW_PATH_CANCEL_PREEMPT;
    const auto* decision = std::get_if<model::Decision>(&record);
    return decision && decision->path == FSW_PATH_CANCEL_PREEMPT;
}

}  // namespace fairswitch::cancel_protection
