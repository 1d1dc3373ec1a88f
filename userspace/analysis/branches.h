// What each variant's branch leaves in the records: one row of the table per variant.
#pragma once

#include <span>
#include <string>

#include "userspace/log/model.h"

namespace fairswitch {

struct VariantBranch {
    const char* id;     // of the variant, as the log's header names it
    const char* label;  // of the row
    bool (*taken)(const model::Record& record);
};

// In the order of the table's rows.
std::span<const VariantBranch> variant_branches();

}  // namespace fairswitch
