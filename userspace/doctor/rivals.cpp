#include "userspace/doctor/rivals.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "userspace/device/livepatch.h"
#include "userspace/device/loading.h"

namespace fairswitch {
namespace {

std::string livepatch_folder(const Subject& subject) {
    return subject.files.at(kLivepatchFolder).string();
}

// Functions of `names` that we replace.
std::set<std::string> ours_among(const Subject& subject, const std::vector<std::string>& names) {
    std::set<std::string> both;
    for (const auto& name : names) {
        if (subject.functions.count(name) != 0) both.insert(name);
    }
    return both;
}

Finding unreadable(const std::string& name, const std::string& path, const SystemFile& file) {
    const bool user =
        file.problem == "Permission denied" || file.problem == "Operation not permitted";
    return warn(name, fmt::format("unknown: {} can't be read ({})", path, file.problem),
                user           ? "run as root; where the kernel is locked down it stays hidden"
                : file.present ? "see why with: ls -l " + path
                               : "mount it: mount -t debugfs debugfs /sys/kernel/debug; "
                                 "mount -t tracefs tracefs /sys/kernel/tracing");
}

Finding functions_unknown(const std::string& name) {
    return warn(name, "not looked at: which functions are replaced isn't known",
                "give --module-source or --module");
}

// "ffffffff81234560  k  check_preempt_wakeup_fair+0x0    [FTRACE]" -> the function.
std::string probed_function(const std::string& line) {
    std::istringstream words(line);
    std::string address;
    std::string kind;
    std::string place;
    words >> address >> kind >> place;
    return place.substr(0, place.find('+'));
}

// "check_preempt_wakeup_fair (1) R I     tramp: …" -> function and flags.
struct FtraceUse {
    std::string function;
    bool redirected = false;  // I: someone changes where it continues
    bool direct = false;      // D: calls a trampoline of its own, as BPF does
};

FtraceUse parse_use(const std::string& line) {
    std::istringstream words(line);
    FtraceUse use;
    std::string count;
    words >> use.function >> count;
    for (std::string flag; words >> flag && flag.size() == 1;) {
        if (flag == "I") use.redirected = true;
        if (flag == "D") use.direct = true;
    }
    return use;
}

}  // namespace

std::set<std::string> loaded_functions(const Subject& subject) {
    if (!subject.running) return {};
    const auto names = Livepatch(kModuleName, livepatch_folder(subject)).functions();
    return {names.begin(), names.end()};
}

Finding check_livepatches(const Subject& subject) {
    const std::string name = "livepatches";
    const auto folder = livepatch_folder(subject);
    std::string harmless;
    bool loaded = false;
    for (const auto& other : livepatch_names(folder)) {
        loaded = loaded || other == kModuleName;
        if (other == kModuleName) continue;
        const auto both = ours_among(subject, Livepatch(other, folder).functions());
        if (!both.empty()) {
            return no(Hinders::kLoad, name,
                      fmt::format("livepatch {} already patches {}", other, fmt::join(both, ", ")),
                      fmt::format("disable it: echo 0 > {}/{}/enabled", kLivepatchFolder, other));
        }
        harmless += (harmless.empty() ? "" : ", ") + other;
    }
    if (loaded) {
        return warn(name,
                    "fairswitch itself is loaded and patches " +
                        fmt::to_string(fmt::join(loaded_functions(subject), ", ")),
                    "before another one is loaded: fairswitch unload");
    }
    if (harmless.empty()) return ok(name, "none loaded");
    return ok(name, "loaded, on other functions: " + harmless);
}

Finding check_kprobes(const Subject& subject) {
    const std::string name = "kprobes";
    const std::string path = "/sys/kernel/debug/kprobes/list";
    if (subject.config_known && !subject.has("CONFIG_KPROBES")) {
        return ok(name, "this kernel has none");
    }
    if (subject.functions.empty()) return functions_unknown(name);
    const auto file = subject.files.read(path);
    if (!file.readable) return unreadable(name, path, file);
    std::vector<std::string> probed;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) probed.push_back(probed_function(line));
    const auto both = ours_among(subject, probed);
    if (both.empty()) {
        return ok(name, fmt::format("none on the {} functions to replace ({} elsewhere)",
                                    subject.functions.size(), probed.size()));
    }
    return warn(
        name, fmt::format("a kprobe is on {}", fmt::join(both, ", ")),
        "end that tracer (perf probe, bpftrace, kprobe_events): its probe would sit in code "
        "that no longer runs, and some kinds make the load fail (EBUSY)");
}

Finding check_ftrace_users(const Subject& subject) {
    const std::string name = "ftrace users";
    const std::string path = "/sys/kernel/tracing/enabled_functions";
    if (subject.functions.empty()) return functions_unknown(name);
    const auto file = subject.files.read(path);
    if (!file.readable) return unreadable(name, path, file);
    const auto own = loaded_functions(subject);
    std::vector<std::string> traced;
    std::vector<std::string> hooked;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) {
        const auto use = parse_use(line);
        if (own.count(use.function) != 0) continue;  // our own redirection
        (use.redirected || use.direct ? hooked : traced).push_back(use.function);
    }
    if (const auto both = ours_among(subject, hooked); !both.empty()) {
        return warn(
            name, fmt::format("a BPF trampoline or a redirection is on {}", fmt::join(both, ", ")),
            "end that program (bpftool prog, bpftrace): the load may fail (EBUSY)");
    }
    if (const auto both = ours_among(subject, traced); !both.empty()) {
        return ok(name, fmt::format("a tracer sees {}, which does no harm", fmt::join(both, ", ")));
    }
    return ok(name,
              own.empty() ? "none on the functions to replace" : "none but fairswitch itself");
}

}  // namespace fairswitch
