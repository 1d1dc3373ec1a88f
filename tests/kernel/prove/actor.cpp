// fairswitch-actor: one task of a scenario, with a slice of its own.
//   fairswitch-actor spin CPU SLICE_US             never sleeps
//   fairswitch-actor wake CPU SLICE_US PERIOD_US BUSY_US [PHASE_US]
//                                                  wakes periodically and works a while; with a
//                                                  phase: so long behind the clock's multiples of
//                                                  the period, whenever the task began
//   fairswitch-actor storm TASKS                   bears tasks that die soon, so many at a time
// SLICE_US 0 leaves the slice as it is. The slice is read back: the kernel clamps it. Who is on its
// CPU alone has its slice.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>

#include "userspace/base/failure.h"
#include "userspace/workload/task_attributes.h"

namespace {

using fairswitch::Exit;
using fairswitch::fail;

std::int64_t cpu_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Asks seldom: in the kernel, a task that is starved holds up RCU.
void work(std::int64_t busy_ns) {
    const std::int64_t until = cpu_time_ns() + busy_ns;
    while (cpu_time_ns() < until) {
        for (int turn = 0; turn < 200; ++turn) asm volatile("");  // a loop that the compiler keeps
    }
}

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void wake(std::int64_t period_ns, std::int64_t busy_ns,
                       std::optional<std::int64_t> phase_ns) {
    std::int64_t moment = monotonic_ns();
    if (phase_ns) moment += *phase_ns - moment % period_ns;
    for (;;) {
        moment += period_ns;
        const timespec next{moment / 1'000'000'000, moment % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
        work(busy_ns);
    }
}

// Works and sleeps a little, for a time that differs from task to task.
[[noreturn]] void live_shortly(unsigned number) {
    for (unsigned turn = 0; turn <= number % 3; ++turn) {
        work(50'000 * (number % 7));
        usleep(100 * (number % 11));
    }
    _exit(0);
}

[[noreturn]] void storm(unsigned tasks) {
    for (unsigned number = 0;; ++number) {
        const pid_t child = fork();
        if (child < 0) fail(Exit::kRunFailed, "fork: {}", std::strerror(errno));
        if (child == 0) live_shortly(number);
        if (number + 1 >= tasks) wait(nullptr);
    }
}

int run(int argc, char** argv) {
    const std::string role = argc > 1 ? argv[1] : "";
    if (role == "storm" && argc == 3) storm(std::stoul(argv[2]));
    if ((role != "spin" || argc != 4) && (role != "wake" || (argc != 6 && argc != 7))) {
        fail(Exit::kUsage, "usage: fairswitch-actor spin CPU SLICE_US | "
                           "wake CPU SLICE_US PERIOD_US BUSY_US [PHASE_US] | storm TASKS");
    }
    if (const std::uint64_t slice_us = std::stoull(argv[3])) fairswitch::set_slice(slice_us * 1000);
    fairswitch::pin_to({std::stoi(argv[2])});
    const auto ns = [&](int i) { return std::stoll(argv[i]) * 1000; };
    if (role == "wake") {
        wake(ns(4), ns(5), argc == 7 ? std::optional<std::int64_t>(ns(6)) : std::nullopt);
    }
    for (;;) asm volatile("");
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
