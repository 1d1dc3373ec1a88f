// Going on with a run that was killed, in the same boot, to the same schedule.
//
// A round counts as done when it is whole in the plan and its records and samples are whole in the
// files. It is measured anew otherwise: the randomisation test rests on rounds that were measured
// in one go. What there is of it lies outside of the blocks and is counted there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "proto/record.pb.h"
#include "userspace/analysis/run.h"

namespace fairswitch {

// Drops the blocks from the first round on that isn't whole: `arms` blocks, all over by that
// moment. Rounds before `first_round` were found whole before.
void keep_whole_rounds(Experiment& done, size_t arms, uint32_t first_round, uint64_t until_ns);

// Rounds of a whole number of blocks that are done.
uint32_t rounds_done(const Experiment& done);
// Seconds that its parts ran.
double seconds_done(const Experiment& done);

// Throws Failure (kUsage) if the directory holds no run, another plan's or one that has ended.
void check_resumable(const std::string& dir, const Plan& saved, const Plan& asked);

// Throws Failure (kImpossible) if what the log was begun on isn't this: kernel, boot, module.
void check_same_boot(const std::string& dir, const Header& then, const Header& now);

// What the run in that directory has done, as far as it counts, and the latencies of its rounds by
// compared arm.
struct ResumePoint {
    Experiment done;
    std::vector<std::vector<BlockPair>> compared;
};
ResumePoint resume_point(const std::string& dir, const Header& now);

}  // namespace fairswitch
