// The machine as a plan wants it, for as long as an object of these lives. What was set is read
// back; what was found is put back at the end, also when the run fails.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "userspace/experiment/journal.h"

namespace fairswitch {

// /sys/kernel/debug/sched/features: a list of FEATURE or NO_FEATURE.
class SchedFeatures {
  public:
    // The journal, if there is one, outlives it.
    explicit SchedFeatures(Journal* journal = nullptr,
                           std::string file = "/sys/kernel/debug/sched/features");
    ~SchedFeatures();
    SchedFeatures(const SchedFeatures&) = delete;
    SchedFeatures& operator=(const SchedFeatures&) = delete;

    // Throws Failure (kUsage) naming those there are, kImpossible if the file can't be read.
    void check(const std::vector<std::string>& wanted) const;
    // These, and all others as they were found. Only what differs from now is written: each write
    // rewrites the kernel's text.
    void set(const std::vector<std::string>& wanted);
    bool readable() const { return !found_.empty(); }

  private:
    void write(const std::string& feature);

    Journal* journal_;
    std::string file_;
    std::vector<std::string> found_;  // each as the file had it
    std::vector<std::string> now_;
    std::vector<bool> told_;  // to the journal
};

// Base slice, and cgroups with their settings. Cgroups that were there before stay.
class Conditions {
  public:
    explicit Conditions(const Plan& plan, Journal* journal = nullptr,
                        std::string cgroup_root = "/sys/fs/cgroup",
                        std::string base_slice_file = "/sys/kernel/debug/sched/base_slice_ns");
    ~Conditions();
    Conditions(const Conditions&) = delete;
    Conditions& operator=(const Conditions&) = delete;

    // One line for each setting, as read back.
    const std::vector<std::string>& told() const { return told_; }

    // Brings a process that hasn't started yet where its program belongs. Returns one line of what
    // was set, or nothing.
    std::string place(pid_t pid, const Program& program) const;

  private:
    void make(const Cgroup& cgroup);
    void set_base_slice(double ms);
    void put_back();

    Journal* journal_;
    std::string root_;
    std::string base_slice_file_;
    std::string base_slice_found_;
    std::vector<std::string> made_;  // cgroup folders, parents first
    std::vector<std::string> told_;
};

// Whether the programs can open as many files as they will. Raises the soft limit as far as it goes.
// Throws Failure (kUsage) naming command, need and limit.
void check_open_files(const Plan& plan);

// Files that `hackbench` with these options opens in one process; 0 for any other command.
size_t hackbench_files(const std::string& command);

}  // namespace fairswitch
