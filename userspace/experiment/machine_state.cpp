#include "userspace/experiment/machine_state.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

// The eighth number of the line of all CPUs: proc_stat(5).
uint64_t steal_of(const std::string& stat) {
    std::istringstream in(stat);
    std::string word;
    in >> word;
    uint64_t value = 0;
    for (int column = 0; column < 8 && in >> value; ++column) {
    }
    return in ? value : 0;
}

uint64_t throttles_of(const std::string& cpus) {
    namespace fs = std::filesystem;
    uint64_t sum = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cpus, error)) {
        std::ifstream count(entry.path() / "thermal_throttle/core_throttle_count");
        uint64_t value = 0;
        if (count >> value) sum += value;
    }
    return sum;
}

}  // namespace

MachineState MachineState::read(const std::string& root) {
    const std::string system = root + "/sys/devices/system";
    MachineState state;
    state.online = first_line(system + "/cpu/online");
    state.clock_source = first_line(system + "/clocksource/clocksource0/current_clocksource");
    state.sched_ext = first_line(root + "/sys/kernel/sched_ext/state");
    state.suspends = first_line(root + "/sys/power/suspend_stats/success");
    state.steal_ticks = steal_of(first_line(root + "/proc/stat"));
    state.throttles = throttles_of(system + "/cpu");
    return state;
}

std::string MachineState::void_since(const MachineState& before) const {
    if (online != before.online)
        return fmt::format("CPUs {} were online, then {}", before.online, online);
    if (suspends != before.suspends) return "the machine slept";
    if (clock_source != before.clock_source)
        return fmt::format("the clock source was {}, then {}", before.clock_source, clock_source);
    const bool taken = !sched_ext.empty() && sched_ext != "disabled";
    const bool was_taken = !before.sched_ext.empty() && before.sched_ext != "disabled";
    if (taken || was_taken) return "a sched_ext scheduler was in force";
    return "";
}

}  // namespace fairswitch
