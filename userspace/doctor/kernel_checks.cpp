#include <fmt/format.h>

#include "userspace/doctor/checks.h"
#include "userspace/graft/image.h"

namespace fairswitch {
namespace {

// Settings are judged where they are known; a kernel that runs can also show it in other ways.
bool surely_lacks(const Subject& subject, const std::string& setting) {
    return subject.config_known && !subject.has(setting);
}

}  // namespace

Finding check_kernel(const Subject& subject) {
    if (surely_lacks(subject, "CONFIG_X86_64")) {
        return no(Hinders::kLoad, "kernel", subject.release + " isn't an x86-64 kernel",
                  "fairswitch knows x86-64 code only");
    }
    const auto package = package_version(subject.banner);
    const auto build_id = subject.build_id.empty() ? "unknown" : subject.build_id;
    if (subject.release.empty()) {
        return no(Hinders::kBuild, "kernel", "release unknown: no headers, see below",
                  "give --kdir");
    }
    return ok("kernel", fmt::format("{}{}, build-id {}", subject.release,
                                    package.empty() ? "" : " (Debian " + package + ")", build_id));
}

Finding check_settings(const Subject& subject) {
    const std::string name = "configuration";
    if (subject.files.first_line("/proc/sys/kernel/modules_disabled") == "1" && subject.running) {
        return no(Hinders::kLoad, name, "loading modules is switched off (kernel.modules_disabled)",
                  "it can't be switched on again: reboot, and don't set it");
    }
    if (!subject.config_known) {
        return warn(name, "not found: neither headers, /boot/config-RELEASE nor /proc/config.gz",
                    "the kernel headers bring it");
    }
    std::string missing;
    for (const auto& [setting, purpose] : needed_settings()) {
        // check_livepatch() speaks of that one.
        if (subject.has(setting) || setting == std::string("CONFIG_LIVEPATCH")) continue;
        missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", setting, purpose);
    }
    if (missing.empty()) return ok(name, "all that is needed is built in");
    return no(Hinders::kLoad, name, "built without " + missing,
              "use a kernel that has it, such as Debian's, or build one with it");
}

Finding check_livepatch(const Subject& subject) {
    const bool there = subject.running ? subject.files.exists("/sys/kernel/livepatch")
                                       : subject.has("CONFIG_LIVEPATCH");
    if (there) return ok("livepatch", "the kernel supports it");
    if (subject.has("CONFIG_LIVEPATCH")) {
        return no(Hinders::kLoad, "livepatch", "/sys/kernel/livepatch isn't there",
                  "mount sysfs: mount -t sysfs sysfs /sys");
    }
    return no(Hinders::kLoad, "livepatch", "the kernel was built without CONFIG_LIVEPATCH",
              "use a kernel that has it, such as Debian's amd64 or cloud-amd64");
}

Finding check_stack_traces(const Subject& subject) {
    const std::string name = "stack traces";
    if (!subject.config_known) return warn(name, "unknown without the configuration", "");
    if (subject.has("CONFIG_HAVE_RELIABLE_STACKTRACE") && subject.has("CONFIG_STACKTRACE")) {
        return ok(name, "reliable, so sleeping tasks needn't be woken for a transition");
    }
    return warn(name,
                "not reliable: a task counts as changed over only when it next runs or leaves "
                "the kernel",
                "build the kernel with CONFIG_UNWINDER_ORC, or expect loading to take long");
}

Finding check_ftrace(const Subject& subject) {
    const std::string name = "ftrace";
    if (surely_lacks(subject, "CONFIG_DYNAMIC_FTRACE")) {
        return no(Hinders::kLoad, name, "the kernel was built without CONFIG_DYNAMIC_FTRACE",
                  "use a kernel that has it: livepatch redirects functions through it");
    }
    if (subject.running && subject.files.first_line("/proc/sys/kernel/ftrace_enabled") == "0") {
        return no(Hinders::kLoad, name, "switched off, and livepatch needs it",
                  "sysctl kernel.ftrace_enabled=1");
    }
    const auto* kprobes = !subject.config_known           ? "kprobes unknown"
                          : subject.has("CONFIG_KPROBES") ? "kprobes too"
                                                          : "no kprobes";
    return ok(name, fmt::format("{}, {}", subject.running ? "on" : "built in", kprobes));
}

}  // namespace fairswitch
