#include "userspace/workload/task_attributes.h"

#include <linux/types.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

// struct sched_attr of linux/sched/types.h, which doesn't go with <sched.h>.
struct Attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;  // of a fair task: its slice (since Linux 6.12)
    uint64_t deadline_ns;
    uint64_t period_ns;
};

struct PolicyName {
    uint32_t policy;
    const char* name;
};
constexpr std::array kPolicies = {PolicyName{SCHED_OTHER, "other"}, PolicyName{SCHED_BATCH, "batch"},
                                  PolicyName{SCHED_IDLE, "idle"}, PolicyName{SCHED_FIFO, "fifo"},
                                  PolicyName{SCHED_RR, "rr"}};

Attributes get(pid_t pid) {
    Attributes found{};
    if (syscall(SYS_sched_getattr, pid, &found, sizeof(found), 0) != 0)
        fail(Exit::kRunFailed, "sched_getattr: {}", std::strerror(errno));
    return found;
}

void set(Attributes wanted, pid_t pid) {
    wanted.size = sizeof(wanted);
    wanted.flags = 0;
    if (syscall(SYS_sched_setattr, pid, &wanted, 0) != 0)
        fail(Exit::kRunFailed, "sched_setattr(policy {}, nice {}, priority {}, slice {} ns): {}",
             policy_name(wanted.policy), wanted.nice, wanted.priority, wanted.runtime_ns,
             std::strerror(errno));
}

void check_slice(uint64_t wanted_ns, uint64_t found_ns) {
    if (wanted_ns != 0 && found_ns != wanted_ns)
        fail(Exit::kRunFailed,
             "asked for a slice of {} ns and got {} ns: the kernel keeps slices between 100 us and "
             "100 ms, and knows custom ones since 6.12",
             wanted_ns, found_ns);
}

int number(std::string_view text, const std::string& list) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
        value >= CPU_SETSIZE)
        fail(Exit::kUsage, "'{}' is no list of CPUs; expected something like 0,2-4", list);
    return value;
}

}  // namespace

uint32_t parse_policy(const std::string& name) {
    std::string known;
    for (const PolicyName& policy : kPolicies) {
        if (name == policy.name) return policy.policy;
        known += std::string(" ") + policy.name;
    }
    fail(Exit::kUsage, "there is no policy '{}'; there are:{}", name, known);
}

const char* policy_name(uint32_t policy) {
    for (const PolicyName& known : kPolicies)
        if (policy == known.policy) return known.name;
    return "unknown";
}

void set_attributes(const TaskAttributes& wanted, pid_t pid) {
    Attributes attributes{};
    attributes.policy = wanted.policy;
    attributes.nice = wanted.nice;
    attributes.priority = wanted.priority;
    attributes.runtime_ns = wanted.slice_ns;
    set(attributes, pid);
    const TaskAttributes found = read_attributes(pid);
    if (found.policy != wanted.policy)
        fail(Exit::kRunFailed, "asked for policy {} and got {}", policy_name(wanted.policy),
             policy_name(found.policy));
    check_slice(wanted.slice_ns, found.slice_ns);
}

TaskAttributes read_attributes(pid_t pid) {
    const Attributes found = get(pid);
    return {found.policy, found.nice, found.priority, found.runtime_ns};
}

void set_slice(uint64_t slice_ns) {
    Attributes attributes = get(0);
    attributes.runtime_ns = slice_ns;
    set(attributes, 0);
    check_slice(slice_ns, get(0).runtime_ns);
}

void pin_to(const std::vector<int>& cpus, pid_t pid) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::string names;
    for (const int cpu : cpus) {
        CPU_SET(cpu, &set);
        names += fmt::format(" {}", cpu);
    }
    if (sched_setaffinity(pid, sizeof(set), &set) != 0)
        fail(Exit::kRunFailed, "can't run on CPU{}: {}", names, std::strerror(errno));
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

void enter_cgroup(const std::string& path) {
    const std::string folder =
        path.starts_with("/sys/fs/cgroup") ? path : "/sys/fs/cgroup/" + path;
    std::ofstream procs(folder + "/cgroup.procs");
    if (!procs) fail(Exit::kUsage, "there is no cgroup {} that we may join", folder);
    procs << "0" << std::flush;
    if (!procs)
        fail(Exit::kRunFailed, "{}/cgroup.procs: {}", folder, std::strerror(errno));
}

void set_timer_slack(uint64_t slack_ns) {
    // 0 would mean "the default"; the kernel has no smaller slack than 1 ns.
    if (prctl(PR_SET_TIMERSLACK, slack_ns ? slack_ns : 1, 0, 0, 0) != 0)
        fail(Exit::kRunFailed, "timer slack of {} ns: {}", slack_ns, std::strerror(errno));
}

uint64_t read_timer_slack() {
    const int found = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    return found < 0 ? 0 : static_cast<uint64_t>(found);
}

std::vector<int> parse_cpu_list(const std::string& list) {
    std::vector<int> cpus;
    std::string_view rest = list;
    while (true) {
        const auto comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        const auto dash = item.find('-');
        const int first = number(item.substr(0, dash), list);
        const int last = dash == item.npos ? first : number(item.substr(dash + 1), list);
        if (last < first)
            fail(Exit::kUsage, "'{}' is no list of CPUs: {} is before {}", list, last, first);
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (comma == rest.npos) return cpus;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace fairswitch
