// The records in which lag-clamp took effect: at requeue, or when the entity left.
#pragma once

#include "userspace/analysis/branches.h"

namespace fairswitch::lag_clamp {

inline constexpr const char* kRow = "lag-clamp raised a lag";

inline bool taken(const model::Record& record) {
    if (const auto* requeue = std::get_if<model::Requeue>(&record))
        return requeue->branches & FSW_LAG_CLAMPED;
    const auto* delay = std::get_if<model::Delay>(&record);
    return delay && (delay->branches & FSW_LAG_CLAMPED);
}

}  // namespace fairswitch::lag_clamp
