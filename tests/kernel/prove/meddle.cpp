// fairswitch-meddle CGROUP SEED: until SIGTERM, does to random tasks and groups below CGROUP what
// takes a task out of its queue and puts it back, asleep, delayed or running: nice, affinity, move
// to another group, policy, a turn as real-time task, slice; and weight, bandwidth and idleness of
// groups. A group that already has a limit gets others, one named "idle" becomes busy and idle again.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "userspace/base/failure.h"
#include "userspace/workload/task_attributes.h"

namespace {

using namespace fairswitch;
namespace fs = std::filesystem;

constexpr useconds_t kPause_us = 2000;

// Slices and weights are such that a task of an idle group below others gets its turn within seconds:
// one that waits for minutes inside an RCU reader keeps the memory of all tasks that exit.
constexpr std::uint64_t kLongestSlice_ns = 3'000'000;
constexpr std::uint64_t kLeastWeight = 20;
constexpr std::uint64_t kMostWeight = 1000;

volatile sig_atomic_t stopping = 0;

class Meddler {
  public:
    Meddler(const fs::path& root, std::uint64_t seed) : random_(seed) {
        collect(root);
        if (leaves_.size() < 2) {
            fail(Exit::kUsage, "{} has {} groups without groups in them; expected two at least",
                 root.string(), leaves_.size());
        }
    }

    void run() {
        while (stopping == 0) {
            const Deed& deed = kDeeds[below(kDeeds.size())];
            done_[&deed - kDeeds.data()] += (this->*deed.function)();
            usleep(kPause_us);
        }
        report();
    }

  private:
    struct Deed {
        const char* name;
        bool (Meddler::*function)();  // false: the task or group wasn't there, or refused
    };
    static const std::array<Deed, 9> kDeeds;

    void collect(const fs::path& group) {
        bool leaf = true;
        for (const fs::directory_entry& entry : fs::directory_iterator(group)) {
            if (!entry.is_directory()) continue;
            leaf = false;
            collect(entry.path());
            groups_.push_back(entry.path());
        }
        if (leaf) leaves_.push_back(group);
    }

    std::uint64_t below(std::uint64_t end) { return random_() % end; }

    // A task of a random group; 0 if that has none.
    pid_t someone() {
        std::ifstream file(leaves_[below(leaves_.size())] / "cgroup.procs");
        std::vector<pid_t> pids;
        for (pid_t pid; file >> pid;) pids.push_back(pid);
        return pids.empty() ? 0 : pids[below(pids.size())];
    }

    static bool write(const fs::path& path, const std::string& text) {
        std::ofstream file(path);
        file << text << std::flush;
        return file.good();
    }

    static std::string read(const fs::path& path) {
        std::string line;
        std::ifstream file(path);
        std::getline(file, line);
        return line;
    }

    bool nice() {
        const pid_t pid = someone();
        return pid != 0 && setpriority(PRIO_PROCESS, pid, static_cast<int>(below(24)) - 8) == 0;
    }

    bool affinity() {
        const auto cpus = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
        const std::uint64_t mask = 1 + below((1u << std::min(cpus, 16u)) - 1);
        cpu_set_t set;
        CPU_ZERO(&set);
        for (unsigned cpu = 0; cpu < cpus; ++cpu) {
            if (mask >> cpu & 1) CPU_SET(cpu, &set);
        }
        const pid_t pid = someone();
        return pid != 0 && sched_setaffinity(pid, sizeof(set), &set) == 0;
    }

    bool move() {
        const pid_t pid = someone();
        return pid != 0 &&
               write(leaves_[below(leaves_.size())] / "cgroup.procs", std::to_string(pid));
    }

    static bool set_policy(pid_t pid, int policy, int priority) {
        const sched_param parameter{.sched_priority = priority};
        return sched_setscheduler(pid, policy, &parameter) == 0;
    }

    bool policy() {
        constexpr std::array kFair{SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};
        const pid_t pid = someone();
        return pid != 0 && set_policy(pid, kFair[below(kFair.size())], 0);
    }

    // Below this process's own priority, so that it never runs as such.
    bool realtime() {
        const pid_t pid = someone();
        return pid != 0 && set_policy(pid, SCHED_FIFO, 1) && set_policy(pid, SCHED_OTHER, 0);
    }

    bool slice() {
        const pid_t pid = someone();
        if (pid == 0) return false;
        try {
            set_attributes({.slice_ns = 100'000 + below(kLongestSlice_ns)}, pid);
            return true;
        } catch (const Failure&) {
            return false;
        }
    }

    bool weight() {
        return write(groups_[below(groups_.size())] / "cpu.weight",
                     std::to_string(kLeastWeight + below(kMostWeight - kLeastWeight)));
    }

    bool bandwidth() {
        constexpr std::array kLimits{"1000 5000", "2000 10000", "1000 20000", "5000 10000"};
        const fs::path file = groups_[below(groups_.size())] / "cpu.max";
        return !read(file).starts_with("max") && write(file, kLimits[below(kLimits.size())]);
    }

    bool idleness() {
        const fs::path& group = groups_[below(groups_.size())];
        const fs::path file = group / "cpu.idle";
        return group.filename() == "idle" && write(file, read(file) == "0" ? "1" : "0");
    }

    // A deed that never succeeded has stressed nothing.
    void report() const {
        std::string never;
        for (std::size_t i = 0; i < kDeeds.size(); ++i) {
            fmt::print("{} {}\n", kDeeds[i].name, done_[i]);
            if (done_[i] == 0) never += std::string(" ") + kDeeds[i].name;
        }
        if (!never.empty()) fail(Exit::kRunFailed, "never done:{}", never);
    }

    std::mt19937_64 random_;
    std::vector<fs::path> groups_;  // all below the root
    std::vector<fs::path> leaves_;  // of these, those that can hold tasks
    std::array<std::uint64_t, 9> done_{};
};

const std::array<Meddler::Deed, 9> Meddler::kDeeds{{{"nice", &Meddler::nice},
                                                    {"affinity", &Meddler::affinity},
                                                    {"move", &Meddler::move},
                                                    {"policy", &Meddler::policy},
                                                    {"realtime", &Meddler::realtime},
                                                    {"slice", &Meddler::slice},
                                                    {"weight", &Meddler::weight},
                                                    {"bandwidth", &Meddler::bandwidth},
                                                    {"idleness", &Meddler::idleness}}};

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 3) fail(Exit::kUsage, "usage: fairswitch-meddle CGROUP SEED");
        signal(SIGTERM, [](int) { stopping = 1; });
        Meddler(argv[1], std::stoull(argv[2])).run();
        return 0;
    } catch (const std::exception& failure) {
        fmt::print(stderr, "fairswitch-meddle: {}\n", failure.what());
        return 1;
    }
}
