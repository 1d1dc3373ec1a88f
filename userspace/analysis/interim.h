// The table that is shown while a run goes on: the measured rows alone.
#pragma once

#include <string>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

struct InterimInput {
    std::vector<std::string> arms;                   // names; the first is the base
    std::vector<std::vector<BlockPair>> compared;    // of the other arms, by round
    size_t rounds_planned = 0;
    double seconds_left = 0;
    double alpha = 0;  // of its verdicts
};

// At most 100 columns wide for up to four arms.
std::string interim_text(const InterimInput& input);

}  // namespace fairswitch
