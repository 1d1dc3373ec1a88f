// The records in which requeue-clock took effect.
#pragma once

#include "userspace/analysis/branches.h"

namespace fairswitch::requeue_clock {

inline constexpr const char* kRow = "requeue-clock updated";

inline bool taken(const model::Record& record) {
    const auto* requeue = std::get_if<model::Requeue>(&record);
    return requeue && (requeue->branches & FSW_LAG_CLOCK_UPDATED);
}

}  // namespace fairswitch::requeue_clock
