// Runs an A/B experiment: a measuring program beside loads, arms alternating in blocks.
//
//   start   measure starts | load starts | settle |  round 1          |  round 2  …
//                                                  swap guard [block]  swap guard [block]
//   stop    arm 0 | load stops | measure prints what it has, then stops | recording ends
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "userspace/analysis/live_latencies.h"
#include "userspace/analysis/stop.h"
#include "userspace/experiment/child_process.h"
#include "userspace/experiment/conditions.h"
#include "userspace/experiment/journal.h"
#include "userspace/experiment/loads.h"
#include "userspace/experiment/resume.h"
#include "userspace/device/device.h"
#include "userspace/device/recorder.h"
#include "userspace/log/writer.h"

namespace fairswitch {

struct ExperimentOptions {
    Plan plan;  // complete and checked
    std::string out;
    std::string command_line;
    std::string graft;  // file with the manifest of the module's build; empty: none
    bool resume = false;  // `out` holds a run that was killed, of this plan: go on with it
};

class ExperimentRun {
  public:
    explicit ExperimentRun(const ExperimentOptions& options);

    // Leaves run.fsl, measure.txt, load.txt and plan.textproto in the directory, also when it is
    // interrupted. Throws what made it fail after that. False: interrupted. Ends by the plan's stop
    // rule.
    bool run();

    // For experiments whose blocks are decided on the way: begins, settles, calls `body`, and ends
    // as run() does. False: interrupted, or the body said so by returning false.
    bool conduct(const std::function<bool()>& body);
    // Inside conduct(): another arm; returns its number among plan().arms().
    size_t add_arm(const PlanArm& arm);
    // Inside conduct(): rounds of one block of each of these arms. False: interrupted.
    bool measure_rounds(const std::vector<size_t>& arms, uint32_t rounds);
    const Experiment& plan() const { return plan_; }

    // Asked for by Ctrl-C: the blocks so far are kept.
    static void interrupt();

  private:
    void take_machine();
    void open_files();
    void go_on_with(const ResumePoint& point);
    Header describe() const;
    bool run_schedule(StopRule& rule);
    bool run_round(const std::vector<size_t>& arms);
    void keep_round();
    void remember_latencies(int first_block);
    void look(const StopAnswer& answer);
    void show_interim(double alpha);
    bool has_looks() const;  // the stop rule wants to see the data
    RunProgress progress() const;
    void save();
    std::string file(const std::string& name) const;
    void name_arms();
    void keep_off_pinned_cpus();
    void start_measuring();
    void start_loads();
    void run_block(size_t arm);
    void stop_programs();
    void finish_log(const std::string& reason);
    // False: interrupted meanwhile.
    bool sleep_watching(double seconds);
    void check_programs();
    void place(const ChildProcess& child, const Program& program, const char* role);
    void tell(const std::string& what);
    double seconds_left() const;
    double seconds_since_start() const;

    ExperimentOptions options_;
    const Plan& asked_ = options_.plan;
    Experiment plan_;
    std::vector<Variant> variants_;  // of the loaded module
    std::vector<ArmSpec> arms_;
    std::vector<std::vector<std::string>> arm_features_;
    std::vector<uint32_t> arm_ids_;
    std::vector<int> cpus_;  // that we were started with, and programs that aren't pinned run on
    // Put back in the reverse order: the programs end before the machine is as it was.
    Journal journal_;
    std::unique_ptr<SchedFeatures> features_;
    std::unique_ptr<Conditions> conditions_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<LogWriter> log_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<ChildProcess> measure_;
    Loads loads_{asked_.loads(), options_.out,
                 [this](const ChildProcess& child, const Program& program) {
                     place(child, program, "load");
                 }};
    std::chrono::steady_clock::time_point begin_;
    double planned_seconds_ = 0;
    uint32_t rounds_ = 0;  // so far
    uint32_t batches_ = 0;
    double seconds_before_ = 0;  // that earlier parts of the run took
    LiveLatencies live_;
    std::vector<std::vector<BlockPair>> compared_;  // by compared arm
};

}  // namespace fairswitch
