// `fairswitch bisect`: the engine of analysis/bisect.h on a real machine.
#pragma once

#include <string>
#include <vector>

#include "userspace/analysis/bisect.h"
#include "userspace/experiment/live_samples.h"
#include "userspace/experiment/runner.h"

namespace fairswitch {

struct BisectRunOptions {
    ExperimentOptions experiment;       // its plan's arms are base and everything turned
    std::vector<std::string> switches;  // each an item of an arm, as `set` and sched features are
    BisectOptions bisect;
};

// A plan's measure, loads and conditions with the two arms that a search begins with. Throws
// Failure (kUsage) if the measuring program isn't `fairswitch waker`: only its samples tell their
// block while they come in.
void prepare_bisect(Plan& plan, const std::vector<std::string>& switches);

class BisectRun {
  public:
    explicit BisectRun(const BisectRunOptions& options);

    // Leaves the run's files in the directory, as `ab` does. False: interrupted, without a result.
    bool run();
    const BisectResult& result() const { return result_; }

  private:
    std::vector<std::vector<BlockPair>> measure(const std::vector<SwitchSet>& sets, size_t rounds);
    size_t arm_of(const SwitchSet& turned);

    BisectRunOptions options_;
    ExperimentRun experiment_;
    LiveSamples samples_;
    std::vector<std::pair<SwitchSet, size_t>> arms_;  // number of each set's arm in the experiment
    BisectResult result_;
};

}  // namespace fairswitch
