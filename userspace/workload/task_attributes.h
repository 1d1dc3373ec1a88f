// How the kernel is told to schedule a thread: the calling one (pid 0) or another. What was asked
// for is read back, since the kernel clamps silently; a difference throws Failure (kRunFailed)
// naming both values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairswitch {

struct TaskAttributes {
    uint32_t policy = 0;  // SCHED_*
    int32_t nice = 0;
    uint32_t priority = 0;  // of SCHED_FIFO and SCHED_RR
    uint64_t slice_ns = 0;  // of the fair policies; 0: the kernel's own base slice
};

// "other", "batch", "idle", "fifo", "rr". Throws Failure (kUsage) naming these.
uint32_t parse_policy(const std::string& name);
const char* policy_name(uint32_t policy);

void set_attributes(const TaskAttributes& wanted, pid_t pid = 0);
TaskAttributes read_attributes(pid_t pid = 0);

// Only the calling thread's slice; what else was set stays.
void set_slice(uint64_t slice_ns);

void pin_to(const std::vector<int>& cpus, pid_t pid = 0);
std::vector<int> allowed_cpus();

// Moves the whole process. `path`: the cgroup's folder, or its path below /sys/fs/cgroup.
void enter_cgroup(const std::string& path);

// How late a timer of this thread may fire so that it can share an interrupt: 50 us by default for
// the fair policies, nothing for real-time ones (prctl(2), PR_SET_TIMERSLACK).
void set_timer_slack(uint64_t slack_ns);
uint64_t read_timer_slack();

// "0,2-4" -> 0 2 3 4. Throws Failure (kUsage).
std::vector<int> parse_cpu_list(const std::string& list);

}  // namespace fairswitch
