#include "userspace/device/watching.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

std::optional<pid_t> as_pid(const std::string& text) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (error != std::errc() || end != text.data() + text.size() || pid <= 0) return std::nullopt;
    return pid;
}

void refuse_other_namespace() {
    // The initial namespace's inode number is fixed in the kernel (PROC_PID_INIT_INO).
    constexpr const char* kInitial = "pid:[4026531836]";
    std::error_code error;
    const std::string own = fs::read_symlink("/proc/self/ns/pid", error);
    if (error || own == kInitial) return;
    fail(Exit::kImpossible,
         "this is pid namespace {}, records speak of {}: pids would mean other tasks; run outside "
         "the container",
         own, kInitial);
}

}  // namespace

std::vector<pid_t> find_processes(const std::string& pid_or_name) {
    refuse_other_namespace();
    if (const auto pid = as_pid(pid_or_name)) return {*pid};
    std::vector<pid_t> found;
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
        const auto pid = as_pid(it->path().filename());
        if (pid && first_line(it->path() / "comm") == pid_or_name) found.push_back(*pid);
    }
    if (found.empty()) {
        fail(Exit::kUsage, "no process is called `{}` now; name a running one, or a pid",
             pid_or_name);
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace fairswitch
