// Tells the story of one late sample in lines for people.
#pragma once

#include <string>
#include <vector>

#include "userspace/analysis/story.h"

namespace fairswitch {

// "57 us", "2.31 ms": three digits or so, signs kept.
std::string duration_text(int64_t ns);
// The same with its sign, "+57 us".
std::string signed_duration(int64_t ns);
// "eligible, delayed, custom slice"; of enum fsw_entity_flag.
std::string flags_text(uint32_t flags);

// "keep: pick_eevdf() chose hackbench/801, which was delayed".
std::string decision_text(const model::Decision& decision, const Evidence& evidence);
// "lag +1.20 ms, slice 2.8 ms, deadline V+0.31 ms, eligible".
std::string entity_text(const model::Entity& entity, uint64_t avg_vruntime_ns);

std::vector<std::string> explain(const Period& period, const Evidence& evidence,
                                 const DecisionStore& decisions, const std::string& arm_name,
                                 std::optional<uint64_t> block_number);

}  // namespace fairswitch
