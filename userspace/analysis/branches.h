// What each variant's branch leaves in the records: one row of the table per variant.
//
// A variant that shows in the records has module/variants/ID/branch.h with, in a namespace named
// as the folder with _ for -:
//   kRow              the row's label
//   taken(record)     whether the variant took effect there
//   kBriefTells       optional: true if taken() also sees it in a Brief
// CMake makes the table of all of them.
#pragma once

#include <span>

#include "userspace/log/model.h"

namespace fairswitch {

struct VariantBranch {
    const char* id;     // of the variant, as the log's header names it
    const char* label;  // of the row
    bool (*taken)(const model::Record& record);
    bool brief_tells = false;  // a Brief shows it as well
};

// In the order of their ids.
std::span<const VariantBranch> variant_branches();

// For branch.h: a decision in which one of these branches (FSW_BRANCH_*) was taken.
inline bool decided_with(const model::Record& record, uint32_t branches) {
    const auto* decision = std::get_if<model::Decision>(&record);
    return decision && decision->queue && (decision->queue->branches & branches);
}

}  // namespace fairswitch
