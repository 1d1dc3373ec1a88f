#include "userspace/experiment/resume.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "userspace/base/failure.h"
#include "userspace/log/reader.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

// The first difference, for people: "modified: rounds: 10 -> 20".
std::string first_difference(const Plan& saved, const Plan& asked) {
    google::protobuf::util::MessageDifferencer differencer;
    std::string report;
    differencer.ReportDifferencesToString(&report);
    return differencer.Compare(saved, asked) ? "" : report.substr(0, report.find('\n'));
}

std::string variants_of(const Header& header) {
    std::string list;
    for (const VariantInfo& variant : header.variants())
        list += (list.empty() ? "" : " ") + variant.id() + (variant.stock_with() ? "=with" : "");
    return list;
}

void check_same(const std::string& dir, const char* what, const std::string& then,
                const std::string& now) {
    if (then == now) return;
    fail(Exit::kImpossible,
         "{} can't be resumed here: its {} was '{}', and is '{}' now; begin a new run", dir, what,
         then, now);
}

bool over_by(const ExperimentBlock& block, uint64_t until_ns) {
    return block.end_ns() != 0 && block.end_ns() <= until_ns;
}

std::vector<std::vector<BlockPair>> compared_rounds(const Experiment& done, const Join& join) {
    std::map<uint64_t, const std::vector<int64_t>*> latencies;
    for (const BlockResult& result : join.blocks)
        latencies[result.block.number] = &result.latencies;
    RoundLatencies rounds;
    for (const ExperimentBlock& block : done.blocks())
        if (const auto found = latencies.find(block.number()); found != latencies.end())
            rounds[block.round()][block.arm()] = *found->second;
    std::vector<uint32_t> arms;
    for (const ExperimentArm& arm : done.arms()) arms.push_back(arm.id());
    return paired(rounds, arms);
}

}  // namespace

void keep_whole_rounds(Experiment& done, size_t arms, uint32_t first_round, uint64_t until_ns) {
    std::map<uint32_t, size_t> whole;
    for (const ExperimentBlock& block : done.blocks())
        whole[block.round()] += block.round() < first_round || over_by(block, until_ns);
    uint32_t keep = 0;
    while (whole.contains(keep) && whole[keep] == arms) ++keep;
    auto& blocks = *done.mutable_blocks();
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                                [&](const ExperimentBlock& block) { return block.round() >= keep; }),
                 blocks.end());
}

uint32_t rounds_done(const Experiment& done) {
    return done.blocks_size() ? done.blocks().rbegin()->round() + 1 : 0;
}

double seconds_done(const Experiment& done) {
    double seconds = 0;
    for (const ExperimentPart& part : done.parts()) seconds += part.seconds();
    return seconds;
}

void check_resumable(const std::string& dir, const Plan& saved, const Plan& asked) {
    const std::string difference = first_difference(saved, asked);
    if (!difference.empty())
        fail(Exit::kUsage,
             "{} holds a run of another plan ({}); resume it as it was begun, without further "
             "options",
             dir, difference);
    if (!fs::exists(dir + "/plan.textproto")) return;
    const Experiment done = read_plan(dir + "/plan.textproto");
    if (done.ended() == "complete")
        fail(Exit::kUsage, "{} holds a run that is complete ({}); `fairswitch report {}` shows it",
             dir, done.stop_reason(), dir);
    double spent = 0;
    for (const Look& look : done.looks()) spent += look.alpha();
    if (spent > kAlpha * (1 - 1e-9))
        fail(Exit::kUsage,
             "{} was ended by its user and its table has spent all of the run's false alarms, so "
             "that going on would give no verdict; begin a new run",
             dir);
}

void check_same_boot(const std::string& dir, const Header& then, const Header& now) {
    check_same(dir, "kernel", then.kernel_release(), now.kernel_release());
    check_same(dir, "kernel's version", then.kernel_version(), now.kernel_version());
    check_same(dir, "boot", then.boot_id(), now.boot_id());
    check_same(dir, "module's list of variants", variants_of(then), variants_of(now));
}

ResumePoint resume_point(const std::string& dir, const Header& now) {
    const RunFiles files = RunFiles::find(dir);
    check_same_boot(dir, LogReader(files.log).header(), now);
    ResumePoint point;
    if (files.plan.empty()) return point;
    point.done = read_plan(files.plan);
    const uint32_t first =
        point.done.parts_size() ? point.done.parts().rbegin()->first_round() : 0;
    const Run run = Run::load(files, 0);
    keep_whole_rounds(point.done, static_cast<size_t>(point.done.arms_size()), first,
                      run.whole_until());
    point.compared = compared_rounds(point.done, run.joined());
    return point;
}

}  // namespace fairswitch
