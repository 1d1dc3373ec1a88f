#include "userspace/experiment/bisect_run.h"

#include <chrono>
#include <map>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/experiment/plan.h"

namespace fairswitch {
namespace {

// Longer than the waker's printer waits between two looks.
constexpr auto kPrinted = std::chrono::milliseconds(200);

struct Interrupted {};

std::string arm_text(const SwitchSet& turned, const std::vector<std::string>& switches) {
    std::string text;
    for (const size_t i : turned) text += (text.empty() ? "" : ",") + switches[i];
    return text.empty() ? "stock" : text;
}

SwitchSet all_of(size_t count) {
    SwitchSet all(count);
    for (size_t i = 0; i < count; ++i) all[i] = i;
    return all;
}

}  // namespace

void prepare_bisect(Plan& plan, const std::vector<std::string>& switches) {
    if (plan.measure().command().find("fairswitch waker") == std::string::npos)
        fail(Exit::kUsage,
             "a search goes by samples while they come in, which only `fairswitch waker` tells the "
             "time of; the measuring program is '{}'",
             plan.measure().command());
    if (switches.empty()) fail(Exit::kUsage, "there is nothing to search among: no switches");
    plan.clear_arms();
    plan.add_arms()->set_set("stock");
    PlanArm* all = plan.add_arms();
    all->set_set(arm_text(all_of(switches.size()), switches));
    all->set_name(switches.size() == 1 ? switches.front() : "all turned");
    plan.set_without_aa(true);
}

BisectRun::BisectRun(const BisectRunOptions& options)
    : options_(options),
      experiment_(options.experiment),
      samples_(options.experiment.out + "/measure.txt") {
    arms_.emplace_back(SwitchSet{}, 0);
    arms_.emplace_back(all_of(options_.switches.size()), 1);
}

bool BisectRun::run() {
    return experiment_.conduct([&] {
        try {
            result_ = bisect(options_.switches.size(), options_.bisect,
                             [&](const std::vector<SwitchSet>& sets, size_t rounds) {
                                 return measure(sets, rounds);
                             });
        } catch (const Interrupted&) {
            return false;
        }
        return true;
    });
}

size_t BisectRun::arm_of(const SwitchSet& turned) {
    for (const auto& [set, arm] : arms_)
        if (set == turned) return arm;
    PlanArm arm;
    arm.set_set(arm_text(turned, options_.switches));
    arm.set_name(arm.set());
    arms_.emplace_back(turned, experiment_.add_arm(arm));
    return arms_.back().second;
}

std::vector<std::vector<BlockPair>> BisectRun::measure(const std::vector<SwitchSet>& sets,
                                                       size_t rounds) {
    std::vector<size_t> arms = {0};
    for (const SwitchSet& set : sets) arms.push_back(arm_of(set));
    const int before = experiment_.plan().blocks_size();
    if (!experiment_.measure_rounds(arms, static_cast<uint32_t>(rounds))) throw Interrupted{};
    std::this_thread::sleep_for(kPrinted);
    samples_.update();
    RoundLatencies measured;
    const Experiment& plan = experiment_.plan();
    for (int i = before; i < plan.blocks_size(); ++i) {
        const ExperimentBlock& block = plan.blocks(i);
        if (!block.void_reason().empty()) continue;
        measured[block.round()][block.arm()] = samples_.between(block.begin_ns(), block.end_ns());
    }
    if (plan.blocks_size()) samples_.forget_before(plan.blocks().rbegin()->end_ns());
    std::vector<uint32_t> ids;
    for (const size_t arm : arms) ids.push_back(plan.arms(static_cast<int>(arm)).id());
    return paired(measured, ids);
}

}  // namespace fairswitch
