// fairswitch-actor: one task of a scenario, with a slice of its own.
//   fairswitch-actor spin CPU SLICE_US             never sleeps
//   fairswitch-actor wake CPU SLICE_US PERIOD_US BUSY_US
//                                                  wakes periodically and works a while
// SLICE_US 0 leaves the slice as it is. The slice is read back: the kernel clamps it.
#include <fmt/format.h>
#include <linux/types.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>

#include "userspace/base/failure.h"

namespace {

using fairswitch::Exit;
using fairswitch::fail;

// As in linux/sched/types.h, which doesn't go with <sched.h>.
struct Attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns;  // of a fair task: its slice
    std::uint64_t deadline_ns;
    std::uint64_t period_ns;
};

void set_slice(std::uint64_t slice_ns) {
    if (slice_ns == 0) return;
    Attributes wanted{};
    wanted.size = sizeof(wanted);
    wanted.runtime_ns = slice_ns;
    if (syscall(SYS_sched_setattr, 0, &wanted, 0) != 0) {
        fail(Exit::kRunFailed, "sched_setattr: {}", std::strerror(errno));
    }
    Attributes found{};
    if (syscall(SYS_sched_getattr, 0, &found, sizeof(found), 0) != 0) {
        fail(Exit::kRunFailed, "sched_getattr: {}", std::strerror(errno));
    }
    if (found.runtime_ns != slice_ns) {
        fail(Exit::kRunFailed, "asked for a slice of {} ns, got {} ns", slice_ns, found.runtime_ns);
    }
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fail(Exit::kRunFailed, "CPU {}: {}", cpu, std::strerror(errno));
    }
}

std::int64_t cpu_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void wake(std::int64_t period_ns, std::int64_t busy_ns) {
    timespec next{};
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        next.tv_nsec += period_ns;
        while (next.tv_nsec >= 1'000'000'000) {
            next.tv_nsec -= 1'000'000'000;
            ++next.tv_sec;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
        const std::int64_t until = cpu_time_ns() + busy_ns;
        while (cpu_time_ns() < until) {
        }
    }
}

int run(int argc, char** argv) {
    const std::string role = argc > 1 ? argv[1] : "";
    if ((role != "spin" || argc != 4) && (role != "wake" || argc != 6)) {
        fail(Exit::kUsage, "usage: fairswitch-actor spin CPU SLICE_US | "
                           "wake CPU SLICE_US PERIOD_US BUSY_US");
    }
    pin(std::stoi(argv[2]));
    set_slice(std::stoull(argv[3]) * 1000);
    if (role == "wake") wake(std::stoll(argv[4]) * 1000, std::stoll(argv[5]) * 1000);
    for (volatile std::uint64_t turns = 0;; turns = turns + 1) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const fairswitch::Failure& failure) {
        fmt::print(stderr, "fairswitch-actor: {}\n", failure.what());
        return static_cast<int>(failure.exit());
    }
}
