#include "userspace/device/loading.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/descriptor.h"

namespace fairswitch {
namespace {

void check_machine() {
    if (::geteuid() != 0) {
        fail(Exit::kImpossible, "loading a module needs root; this is user id {}", ::geteuid());
    }
    if (!livepatch_supported()) {
        fail(Exit::kImpossible,
             "this kernel has no livepatch support (no /sys/kernel/livepatch); it needs "
             "CONFIG_LIVEPATCH=y, as Debian's amd64 and cloud-amd64 kernels have");
    }
    if (first_line("/proc/sys/kernel/ftrace_enabled") == "0") {
        fail(Exit::kImpossible,
             "kernel.ftrace_enabled is 0, livepatch needs 1; run `sysctl kernel.ftrace_enabled=1`");
    }
    if (::access("/sys/module/fairswitch", F_OK) == 0) {
        fail(Exit::kRunFailed,
             "fairswitch is already loaded; see `fairswitch status`, or `fairswitch unload` first");
    }
}

void check_file(const ModuleFile& module) {
    utsname name{};
    ::uname(&name);
    if (module.value("name") != kModuleName) {
        fail(Exit::kUsage, "{} is the module `{}`; expected `{}`, as made by `fairswitch build`",
             module.path, module.value("name"), kModuleName);
    }
    if (module.release() != name.release) {
        fail(Exit::kImpossible,
             "{} was built for kernel {}, this one is {}; build it for this kernel with "
             "`fairswitch build`",
             module.path, module.release(), name.release);
    }
    if (module.value("livepatch") != "Y") {
        fail(Exit::kUsage, "{} isn't marked as a livepatch (modinfo livepatch=Y); build it again",
             module.path);
    }
}

void check_rivals(const ModuleFile& module) {
    for (const std::string& name : livepatch_names()) {
        for (const std::string& function : Livepatch(name).functions()) {
            if (!module.functions.contains(function)) continue;
            fail(
                Exit::kImpossible,
                "livepatch {} already patches {}, which this module patches too; one of them would "
                "silently not be in force: disable {} first (echo 0 > "
                "/sys/kernel/livepatch/{}/enabled)",
                name, function, name, name);
        }
    }
}

std::string explain_insert(int error, const ModuleFile& module) {
    const std::string lockdown = first_line("/sys/kernel/security/lockdown");
    switch (error) {
        case ENOEXEC:
            return "the kernel refuses the file's format, a relocation or its version magic";
        case EKEYREJECTED:
        case ENOKEY:
        case EPERM:
            return fmt::format(
                "the kernel wants a signed module (lockdown: {}; this file is {}); sign it with a "
                "key that this machine trusts, such as DKMS's MOK",
                lockdown.empty() ? "unknown" : lockdown,
                module.is_signed ? "signed, but by no trusted key" : "not signed");
        case EINVAL:
            return "the kernel refuses the livepatch or a parameter (--ring-kb: a power of two)";
        case ENOENT:
            return "a symbol or a function that the module names isn't in this kernel; was it "
                   "built "
                   "for this very package version?";
        case EEXIST:
            return "a module of this name is loaded already";
        case EBUSY:
            return "a function to patch is in use by another tracer (kretprobe, livepatch, BPF "
                   "trampoline)";
        case ENOMEM:
            return "no memory for its rings; try a smaller --ring-kb";
        default:
            return std::strerror(error);
    }
}

}  // namespace

void check_loadable(const ModuleFile& module) {
    check_machine();
    check_file(module);
    check_rivals(module);
}

void insert_module(const ModuleFile& module, const std::string& parameters) {
    const Descriptor file(::open(module.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || ::syscall(SYS_finit_module, file.get(), parameters.c_str(), 0) != 0) {
        const int error = errno;
        fail(Exit::kImpossible, "can't load {}: {} ({}); the kernel log (dmesg) has the details",
             module.path, explain_insert(error, module), std::strerror(error));
    }
}

// The kernel gives back its own reference a moment after the transition, from a work queue, so
// a module that looks held may only need that moment.
void remove_module() {
    constexpr int kAttempts = 50;
    constexpr std::chrono::milliseconds kPause(100);
    int error = EAGAIN;
    for (int attempt = 0; attempt < kAttempts && error == EAGAIN; ++attempt) {
        if (attempt > 0) std::this_thread::sleep_for(kPause);
        if (::syscall(SYS_delete_module, kModuleName, O_NONBLOCK) == 0 || errno == ENOENT) return;
        error = errno;
    }
    fail(Exit::kRunFailed, "can't remove the module: {}{}", std::strerror(error),
         error == EAGAIN || error == EBUSY
             ? "; something still holds it (an open /dev/fairswitch, a mapping, perf on its events)"
             : "");
}

}  // namespace fairswitch
