// What makes a block of an experiment worthless when it changes in the middle of it.
#pragma once

#include <cstdint>
#include <string>

namespace fairswitch {

struct MachineState {
    std::string online;        // CPUs, as in "0-7"
    std::string clock_source;  // "tsc"
    std::string sched_ext;     // "disabled", or empty on kernels without it
    std::string suspends;      // how often the machine slept
    uint64_t steal_ticks = 0;  // time that a hypervisor gave to others, all CPUs, USER_HZ
    uint64_t throttles = 0;    // of all CPUs for heat

    // `root`: where /proc and /sys are; for tests.
    static MachineState read(const std::string& root = "");

    // Why what was measured since `before` is void; empty if it isn't.
    std::string void_since(const MachineState& before) const;
};

}  // namespace fairswitch
