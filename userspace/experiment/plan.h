// What a user asks for: a Plan (proto/experiment.proto), from a file or from flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/experiment.pb.h"
#include "userspace/analysis/power.h"
#include "userspace/analysis/stop.h"

namespace fairswitch {

// Throws Failure (kUsage) with line and column of the first mistake.
Plan read_plan_file(const std::string& path);

// Fills in the defaults that the proto names.
void complete_plan(Plan& plan);

// Throws Failure (kUsage) naming the field, what was expected and what to do. The arms' variants
// are checked later, against the loaded module.
void check_plan(const Plan& plan);

// An arm's text, parted: sched features are all capitals, variants never are.
struct ArmText {
    std::string variants;               // "stock" when there are none
    std::vector<std::string> features;  // as written, "NO_RUN_TO_PARITY"
};
ArmText part_arm(std::string_view text);

// The arms as run: with the first one twice unless the plan is without_aa or names it twice itself.
std::vector<PlanArm> arms_to_run(const Plan& plan);

// Of a complete plan.
StopOptions stop_options(const Plan& plan);
PowerPlan power_plan(const Plan& plan);

// Seconds from the first swap to the end.
double planned_seconds(const Plan& plan, size_t arms);

}  // namespace fairswitch
