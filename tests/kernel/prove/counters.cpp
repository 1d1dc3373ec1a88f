// fairswitch-counters [GROUP=TASKS|GROUP=TASKS:idle]...: whether the scheduler's counters of every
// cfs_rq are what they must be when exactly TASKS runnable tasks of the fair class are in each GROUP
// on each CPU, and none elsewhere. An idle GROUP is one with cpu.idle. Run it as a real-time task,
// which isn't counted as fair.
//
// Reads debugfs once, while a real-time task of its own occupies every other CPU: to show V, 6.12
// calls avg_vruntime() on each cfs_rq without the runqueue's lock, and that function writes.
//
// Which counter means what, by the names of 6.12 / 7.x in /sys/kernel/debug/sched/debug:
//   nr_running / nr_queued           tasks and groups directly on it
//   h_nr_queued                      tasks on it and below
//   h_nr_runnable                    of these, not delayed
//   h_nr_delayed / -                 delayed tasks
//   idle_nr_running / -              idle tasks and groups directly on it
//   idle_h_nr_running / h_nr_idle    tasks below it that are idle by policy or by a group in between
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "userspace/base/failure.h"

namespace {

using namespace fairswitch;

constexpr const char* kDebug = "/sys/kernel/debug/sched/debug";

using Counters = std::map<std::string, long>;

// What the kernel shows: a cfs_rq by its CPU and group ("/" is the root), and each CPU's runqueue.
struct Shown {
    std::map<unsigned, Counters> cpus;
    std::map<std::pair<unsigned, std::string>, Counters> queues;
    std::vector<std::string> runnable;  // each such task as the kernel lists it, PID, V and all
};

void pin(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fail(Exit::kRunFailed, "CPU {}: {}", cpu, std::strerror(errno));
    }
}

// While it lives, this task and its children are all that runs. They wait a while before they seize
// the CPUs, so that whatever their own birth has woken in the kernel has gone to sleep again.
class Standstill {
  public:
    Standstill() {
        if (sched_getscheduler(0) != SCHED_FIFO) {
            fail(Exit::kUsage, "not a real-time task; run it with chrt -f 50");
        }
        void* shared = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) fail(Exit::kRunFailed, "no memory");
        shared_ = new (shared) Shared;
        const auto here = static_cast<unsigned>(sched_getcpu());
        const auto cpus = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
        pin(here);
        for (unsigned cpu = 0; cpu < cpus; ++cpu) {
            if (cpu != here) bear(cpu);
        }
        while (shared_->ready != children_.size()) usleep(kPoll_us);
        usleep(kCalm_us);
        shared_->seize = true;
        while (shared_->seized != children_.size()) {
        }
    }

    ~Standstill() {
        for (const pid_t child : children_) kill(child, SIGKILL);
        for (const pid_t child : children_) waitpid(child, nullptr, 0);
        munmap(shared_, sizeof(Shared));
    }

    Standstill(const Standstill&) = delete;
    Standstill& operator=(const Standstill&) = delete;

  private:
    static constexpr useconds_t kPoll_us = 500;
    static constexpr useconds_t kCalm_us = 200'000;

    struct Shared {
        std::atomic<unsigned> ready{0};
        std::atomic<bool> seize{false};
        std::atomic<unsigned> seized{0};
    };

    void bear(unsigned cpu) {
        const pid_t child = fork();
        if (child < 0) fail(Exit::kRunFailed, "fork: {}", std::strerror(errno));
        if (child > 0) {
            children_.push_back(child);
            return;
        }
        pin(cpu);
        ++shared_->ready;
        while (!shared_->seize) usleep(kPoll_us);
        for (++shared_->seized;;) {
        }
    }

    Shared* shared_ = nullptr;
    std::vector<pid_t> children_;
};

// All at once, then parsed.
std::string debug_text() {
    const Standstill standstill;
    std::ifstream file(kDebug);
    if (!file) fail(Exit::kImpossible, "can't read {}; is debugfs mounted?", kDebug);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Shown read_debug() {
    std::istringstream file(debug_text());
    Shown shown;
    Counters* section = nullptr;
    for (std::string line; std::getline(file, line);) {
        unsigned cpu = 0;
        char group[256] = "/";
        if (std::sscanf(line.c_str(), "cpu#%u", &cpu) == 1) {
            section = &shown.cpus[cpu];
        } else if (std::sscanf(line.c_str(), "cfs_rq[%u]:%255s", &cpu, group) >= 1) {
            section = &shown.queues[{cpu, group}];
        } else if (!line.starts_with("  .")) {
            section = nullptr;
            if (line.starts_with(" R") || line.starts_with(">R")) shown.runnable.push_back(line);
        } else if (section != nullptr) {
            char name[64];
            long value = 0;
            if (std::sscanf(line.c_str(), "  .%63[^ :] : %ld", name, &value) == 2) {
                (*section)[name] = value;
            }
        }
    }
    return shown;
}

class Expected {
  public:
    void add(const std::string& argument) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || argument[0] != '/') {
            fail(Exit::kUsage, "'{}': expected /GROUP=TASKS or /GROUP=TASKS:idle", argument);
        }
        const std::string group = argument.substr(0, equals);
        tasks_[group] = std::stol(argument.substr(equals + 1));
        if (argument.ends_with(":idle")) idle_.insert(group);
    }

    Counters of(const std::string& queue) const {
        long direct = 0;
        long all = 0;
        long idle = 0;
        std::set<std::string> children;  // with tasks in them
        for (const auto& [group, tasks] : tasks_) {
            if (!is_within(group, queue)) continue;
            all += tasks;
            if (group == queue) {
                direct += tasks;
            } else {
                children.insert(child_towards(queue, group));
                if (idle_below(queue, group)) idle += tasks;
            }
        }
        long idle_children = 0;
        for (const std::string& child : children) idle_children += idle_.count(child);
        direct += static_cast<long>(children.size());
        return {{"nr_running", direct},           {"nr_queued", direct},
                {"h_nr_queued", all},             {"h_nr_runnable", all},
                {"h_nr_delayed", 0},              {"idle_nr_running", idle_children},
                {"idle_h_nr_running", idle},      {"h_nr_idle", idle}};
    }

    const std::map<std::string, long>& tasks() const { return tasks_; }

  private:
    static std::string prefix(const std::string& queue) { return queue == "/" ? "/" : queue + "/"; }

    static bool is_within(const std::string& group, const std::string& queue) {
        return group == queue || group.starts_with(prefix(queue));
    }

    static std::string child_towards(const std::string& queue, const std::string& group) {
        return group.substr(0, group.find('/', prefix(queue).size()));
    }

    // A group counts as idle where it is a child, not on its own cfs_rq.
    bool idle_below(const std::string& queue, const std::string& group) const {
        for (const std::string& idle : idle_) {
            if (idle != queue && is_within(idle, queue) && is_within(group, idle)) return true;
        }
        return false;
    }

    std::map<std::string, long> tasks_;
    std::set<std::string> idle_;
};

// Each contradiction, one a line.
std::vector<std::string> compare(const Shown& shown, const Expected& expected) {
    std::vector<std::string> wrong;
    std::uint64_t compared = 0;
    for (const auto& [where, found] : shown.queues) {
        for (const auto& [name, wanted] : expected.of(where.second)) {
            const auto counter = found.find(name);
            if (counter == found.end()) continue;
            ++compared;
            if (counter->second != wanted) {
                wrong.push_back(fmt::format("CPU {} {}: {} is {}, expected {}", where.first,
                                            where.second, name, counter->second, wanted));
            }
        }
    }
    for (const auto& [cpu, found] : shown.cpus) {
        // And the one that occupied it.
        const long wanted = expected.of("/").at("h_nr_queued") + 1;
        if (found.at("nr_running") != wanted) {
            wrong.push_back(fmt::format("CPU {}: nr_running is {}, expected {}", cpu,
                                        found.at("nr_running"), wanted));
        }
        for (const auto& [group, tasks] : expected.tasks()) {
            if (tasks > 0 && shown.queues.count({cpu, group}) == 0) {
                wrong.push_back(fmt::format("CPU {}: {} isn't shown, expected {} tasks", cpu, group,
                                            tasks));
            }
        }
    }
    if (compared == 0 || shown.cpus.empty()) fail(Exit::kRunFailed, "{} has no counters", kDebug);
    if (wrong.empty()) {
        fmt::print("{} counters of {} cfs_rqs are right\n", compared, shown.queues.size());
    }
    return wrong;
}

int run(int argc, char** argv) {
    Expected expected;
    for (int i = 1; i < argc; ++i) expected.add(argv[i]);
    const Shown shown = read_debug();
    const std::vector<std::string> wrong = compare(shown, expected);
    for (const std::string& line : wrong) fmt::print("{}\n", line);
    if (!wrong.empty()) {
        for (const std::string& task : shown.runnable) fmt::print("  {}\n", task);
    }
    return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "fairswitch-counters: {}\n", failure.what());
        return 1;
    }
}
