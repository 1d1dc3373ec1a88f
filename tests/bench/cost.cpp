// fairswitch-cost: how long the same work takes, for comparing machines that differ in who watches.
// Run in the lab under virtual time, where nanoseconds count instructions, on one CPU.
//
//   fairswitch-cost wakes NAME BLOCKS WAKEUPS    cost wakes NAME elapsed own wakeups kept decisions
//   fairswitch-cost run NAME COMMAND...          cost run NAME elapsed decisions
//   fairswitch-cost settle
//
// elapsed: ns; own: of these, ns that the two threads ran, the rest being somebody else's; kept:
// wakeups whose check didn't preempt; decisions: as the loaded module counts them, 0 without it.
//
// Of `wakes` each wakeup is the same: a thread that never sleeps wakes one with a shorter slice and
// a far greater weight, so that the check preempts, the other runs at once, reads what woke it and
// sleeps again. One wakeup-preemption check, two switches. A first block, not printed, lets whoever
// watches reach its steady state. `settle` waits until nobody else runs: for some
// seconds after the boot the kernel is busy with itself.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>

#include "fairswitch/device.h"
#include "tests/bench/program.h"
#include "userspace/base/failure.h"
#include "userspace/log/descriptor.h"
#include "userspace/workload/task_attributes.h"

namespace fairswitch {
namespace {

constexpr std::uint64_t kShortSlice_ns = 100'000;
constexpr std::int32_t kHeavyNice = -20;
// Enough that the woken thread's share of the CPU stays below what its weight grants.
constexpr int kSpins = 500;
constexpr std::uint64_t kWarmUp = 1000;  // wakeups
constexpr std::uint64_t kMostSettling = 500;
constexpr double kSettled = 0.99;  // share of the time that is the own threads'

std::uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Without a session, so that it can be asked beside a recorder.
std::uint64_t decisions() {
    const Descriptor device(::open("/dev/fairswitch", O_RDWR | O_CLOEXEC));
    if (!device) return 0;
    fsw_status status{};
    if (::ioctl(device.get(), FSW_IOC_STATUS, &status) != 0) {
        fail(Exit::kRunFailed, "/dev/fairswitch: can't read the status: {}", std::strerror(errno));
    }
    return status.decisions;
}

class Wakes {
  public:
    Wakes() : event_(::eventfd(0, EFD_CLOEXEC)), sleeper_([this] { sleep_and_wake(); }) {
        if (!event_) fail(Exit::kRunFailed, "no eventfd: {}", std::strerror(errno));
        while (!ready_.load()) std::this_thread::yield();
    }

    ~Wakes() {
        stop_.store(true);
        wake();
        sleeper_.join();
    }

    struct Block {
        std::uint64_t elapsed = 0;
        std::uint64_t own = 0;
        std::uint64_t kept = 0;
        std::uint64_t decided = 0;
    };

    Block block(std::uint64_t wakeups) {
        Block block;
        const std::uint64_t decided = decisions();
        const std::uint64_t own = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        const std::uint64_t begin = clock_ns(CLOCK_MONOTONIC);
        for (std::uint64_t i = 0; i < wakeups; ++i) block.kept += wake();
        block.elapsed = clock_ns(CLOCK_MONOTONIC) - begin;
        block.own = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own;
        block.decided = decisions() - decided;
        return block;
    }

  private:
    void sleep_and_wake() {
        set_attributes({.nice = kHeavyNice, .slice_ns = kShortSlice_ns});
        ready_.store(true);
        std::uint64_t count = 0;
        while (!stop_.load(std::memory_order_relaxed)) {
            if (::read(event_.get(), &count, sizeof(count)) != sizeof(count)) return;
            seen_.store(seen_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
    }

    // True if the other didn't run at once.
    bool wake() {
        constexpr std::uint64_t kOne = 1;
        const std::uint64_t before = seen_.load(std::memory_order_relaxed);
        if (::write(event_.get(), &kOne, sizeof(kOne)) != sizeof(kOne)) {
            fail(Exit::kRunFailed, "eventfd: {}", std::strerror(errno));
        }
        const bool kept = seen_.load(std::memory_order_relaxed) == before;
        while (seen_.load(std::memory_order_relaxed) == before) std::this_thread::yield();
        for (int spins = 0; spins < kSpins; ++spins) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        return kept;
    }

    Descriptor event_;
    std::atomic<bool> ready_{false};
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> seen_{0};
    std::thread sleeper_;
};

int run_wakes(const std::string& name, std::uint64_t blocks, std::uint64_t wakeups) {
    pin_to({0});
    Wakes wakes;
    wakes.block(kWarmUp);
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const Wakes::Block block = wakes.block(wakeups);
        std::printf("cost wakes %s %lu %lu %lu %lu %lu\n", name.c_str(), block.elapsed, block.own,
                    wakeups, block.kept, block.decided);
    }
    return 0;
}

int settle() {
    pin_to({0});
    Wakes wakes;
    for (std::uint64_t i = 0; i < kMostSettling; ++i) {
        const Wakes::Block block = wakes.block(kWarmUp);
        if (static_cast<double>(block.own) > kSettled * static_cast<double>(block.elapsed)) return 0;
    }
    fail(Exit::kRunFailed, "somebody else runs all the time: this machine doesn't settle");
}

// Its output is nobody's.
[[noreturn]] void become(char** command) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::execvp(command[0], command);
    ::_exit(127);
}

int run_command(const std::string& name, char** command) {
    const std::uint64_t decided = decisions();
    const std::uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    const pid_t child = ::fork();
    if (child == 0) become(command);
    int status = -1;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
        fail(Exit::kRunFailed, "{} failed, status {}", command[0], status);
    }
    const std::uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - begin;
    std::printf("cost run %s %lu %lu\n", name.c_str(), elapsed, decisions() - decided);
    return 0;
}

int run(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "wakes" && argc == 5)
        return run_wakes(argv[2], std::stoull(argv[3]), std::stoull(argv[4]));
    if (mode == "run" && argc > 3) return run_command(argv[2], argv + 3);
    if (mode == "settle" && argc == 2) return settle();
    fail(Exit::kUsage,
         "usage: fairswitch-cost wakes NAME BLOCKS WAKEUPS | run NAME COMMAND... | settle");
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    return fairswitch::run_program("fairswitch-cost", fairswitch::run, argc, argv);
}
