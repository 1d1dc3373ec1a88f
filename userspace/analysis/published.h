// What somebody posted for two arms, beside what this run found: the direction of each figure, and
// whether both agree. The figures themselves come from other hardware and are never compared.
//
// Posted percentages are relative to the column on their left and with signs of various meaning;
// here all are (arm - base) / base, so that negative is always smaller.
#pragma once

#include <string>

#include "proto/experiment.pb.h"
#include "userspace/analysis/table.h"

namespace fairswitch {

enum class Agreement {
    kAgrees,       // both significantly here, and in the same direction
    kDisagrees,    // significantly here, and in the other direction
    kNotSeen,      // no significant difference here
    kNothingTold,  // theirs hardly moved (below 2 %), or the row isn't tested
};

Agreement agreement(double published_percent, const Comparison& here);

// One block of lines for each Published of the plan; empty if there is none.
std::string published_text(const Table& table, const Plan& plan);

}  // namespace fairswitch
