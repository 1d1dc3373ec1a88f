#include "userspace/device/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <sstream>

#include "userspace/device/host.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/schema.h"

namespace fairswitch {
namespace {

// Where a setting stands that changes what the scheduler or a measurement does. A file that can't
// be read (debugfs not mounted, locked down, other kernel) leaves its setting out.
struct SettingFile {
    const char* name;
    const char* path;
};

constexpr SettingFile kSettings[] = {
    {"sched_features", "/sys/kernel/debug/sched/features"},
    {"preempt", "/sys/kernel/debug/sched/preempt"},
    {"base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns"},
    {"autogroup", "/proc/sys/kernel/sched_autogroup_enabled"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"smt", "/sys/devices/system/cpu/smt/control"},
    {"cpus_online", "/sys/devices/system/cpu/online"},
    {"cpus_isolated", "/sys/devices/system/cpu/isolated"},
    {"nohz_full", "/sys/devices/system/cpu/nohz_full"},
    {"sched_ext", "/sys/kernel/sched_ext/state"},
    {"cmdline", "/proc/cmdline"},
};

void add_setting(Header& header, const std::string& name, const std::string& value) {
    if (value.empty()) return;
    Setting& setting = *header.add_settings();
    setting.set_name(name);
    setting.set_value(value.substr(0, value.find_last_not_of(' ') + 1));
}

// CONFIG_ lines that bear on timing, from wherever the kernel's config can be found.
void add_config(Header& header, const std::string& release) {
    for (const std::string& path :
         {"/boot/config-" + release, "/lib/modules/" + release + "/build/.config",
          "/lib/modules/" + release + "/config"}) {
        std::istringstream config(whole_file(path));
        bool found = false;
        for (std::string line; std::getline(config, line);) {
            for (const char* key : {"CONFIG_HZ=", "CONFIG_PREEMPT=", "CONFIG_PREEMPT_VOLUNTARY=",
                                    "CONFIG_PREEMPT_LAZY=", "CONFIG_PREEMPT_RT=",
                                    "CONFIG_PREEMPT_DYNAMIC=", "CONFIG_NO_HZ_FULL="}) {
                if (!line.starts_with(key)) continue;
                const std::size_t equals = line.find('=');
                add_setting(header, line.substr(0, equals), line.substr(equals + 1));
                found = true;
            }
        }
        if (found) return;
    }
}

std::uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::string running_build_id() {
    constexpr std::uint32_t kBuildIdType = 3;  // NT_GNU_BUILD_ID
    const std::string notes = whole_file("/sys/kernel/notes");
    const auto aligned = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    std::uint32_t head[3];  // name's size, descriptor's size, type
    for (std::size_t at = 0; at + sizeof(head) <= notes.size();) {
        std::memcpy(head, notes.data() + at, sizeof(head));
        const std::size_t name_at = at + sizeof(head);
        const std::size_t id_at = name_at + aligned(head[0]);
        if (id_at + head[1] > notes.size()) break;
        if (head[2] == kBuildIdType &&
            notes.compare(name_at, 4, std::string_view("GNU\0", 4)) == 0) {
            return notes.substr(id_at, head[1]);
        }
        at = id_at + aligned(head[1]);
    }
    return {};
}

Header describe_machine(const Device& device) {
    Header header;
    utsname name{};
    ::uname(&name);
    header.set_kernel_release(name.release);
    header.set_kernel_version(first_line("/proc/version"));
    header.set_build_id(running_build_id());
    header.set_host(name.nodename);
    header.set_boot_id(first_line("/proc/sys/kernel/random/boot_id"));
    header.set_start_monotonic_ns(clock_ns(CLOCK_MONOTONIC));
    header.set_start_realtime_ns(clock_ns(CLOCK_REALTIME));
    header.set_boot_realtime_ns(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME));
    header.set_clock("CLOCK_MONOTONIC, by ktime_get_mono_fast_ns()");
    header.set_cpus(device.info().cpus);
    describe_host(header);
    header.set_ring_bytes(device.info().ring_bytes);
    for (const Variant& variant : device.variants()) {
        VariantInfo& info = *header.add_variants();
        info.set_index(variant.index);
        info.set_id(variant.id);
        info.set_stock_with(variant.stock_with);
    }
    for (const SettingFile& setting : kSettings) {
        add_setting(header, setting.name, first_line(setting.path));
    }
    add_config(header, name.release);
    header.set_schema(log_schema());
    return header;
}

void add_arm(Header& header, std::uint32_t id, const ArmSpec& arm) {
    Arm& added = *header.add_arms();
    added.set_id(id);
    added.set_name(arm.name);
    added.set_positions(arm.positions);
}

}  // namespace fairswitch
