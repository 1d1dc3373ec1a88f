#include "userspace/device/livepatch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/descriptor.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

// Names in a folder; none if it can't be read or goes away meanwhile, as /proc entries do.
std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        names.push_back(it->path().filename());
    }
    return names;
}

bool is_number(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "[<0>] do_nanosleep+0x63/0x180" -> "do_nanosleep"; the first three frames.
std::string innermost_frames(const std::string& stack) {
    std::istringstream lines(stack);
    std::string result;
    std::string line;
    for (int frame = 0; frame < 3 && std::getline(lines, line); ++frame) {
        const std::size_t begin = line.find("] ");
        if (begin == std::string::npos) continue;
        const std::string function = line.substr(begin + 2, line.find('+') - begin - 2);
        result += (result.empty() ? "" : " < ") + function;
    }
    return result;
}

}  // namespace

Livepatch::Livepatch(std::string name, const std::string& folder)
    : name_(std::move(name)), folder_(folder + "/" + name_) {}

bool Livepatch::present() const { return ::access(folder_.c_str(), F_OK) == 0; }
bool Livepatch::enabled() const { return first_line(folder_ + "/enabled") == "1"; }
bool Livepatch::in_transition() const { return first_line(folder_ + "/transition") == "1"; }

std::vector<std::string> Livepatch::functions() const {
    std::vector<std::string> functions;
    for (const std::string& object : names_in(folder_)) {
        // A function's folder is NAME,POSITION.
        for (const std::string& entry : names_in(folder_ + "/" + object)) {
            const std::size_t comma = entry.rfind(',');
            if (comma != std::string::npos) functions.push_back(entry.substr(0, comma));
        }
    }
    std::ranges::sort(functions);
    return functions;
}

void Livepatch::set_enabled(bool enabled) const {
    const std::string path = folder_ + "/enabled";
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), enabled ? "1" : "0", 1) != 1) {
        fail(Exit::kRunFailed, "can't write {} to {}: {}", enabled ? 1 : 0, path,
             std::strerror(errno));
    }
}

std::vector<HoldUp> Livepatch::hold_ups() const {
    const std::string target = enabled() ? "1" : "0";
    std::vector<HoldUp> result;
    for (const std::string& pid : names_in("/proc")) {
        if (!is_number(pid)) continue;
        const std::string tasks = "/proc/" + pid + "/task";
        for (const std::string& tid : names_in(tasks)) {
            const std::string folder = tasks + "/" + tid;
            const std::string state = first_line(folder + "/patch_state");
            // -1: no transition concerns it; empty: the task has gone.
            if (state.empty() || state == "-1" || state == target) continue;
            HoldUp& task = result.emplace_back();
            std::from_chars(tid.data(), tid.data() + tid.size(), task.tid);
            task.comm = first_line(folder + "/comm");
            task.stack = innermost_frames(whole_file(folder + "/stack"));
        }
    }
    return result;
}

bool Livepatch::wait(std::chrono::milliseconds limit, const Progress& progress) const {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kPoll(20);
    constexpr std::chrono::milliseconds kProgress(200);
    const auto begin = Clock::now();
    auto next_progress = begin;
    while (present() && in_transition()) {
        const auto now = Clock::now();
        const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin);
        if (elapsed >= limit) return false;
        if (now >= next_progress) {
            if (!progress(elapsed)) return false;
            next_progress = now + kProgress;
        }
        std::this_thread::sleep_for(kPoll);
    }
    return true;
}

std::vector<std::string> livepatch_names(const std::string& folder) { return names_in(folder); }

bool livepatch_supported() { return ::access(kLivepatchFolder, F_OK) == 0; }

std::string describe(const std::vector<HoldUp>& hold_ups) {
    constexpr std::size_t kShown = 3;
    std::string result;
    for (std::size_t i = 0; i < std::min(hold_ups.size(), kShown); ++i) {
        const HoldUp& task = hold_ups[i];
        result += fmt::format("{}{}/{}", i == 0 ? "" : ", ", task.comm, task.tid);
        if (!task.stack.empty()) result += fmt::format(" ({})", task.stack);
    }
    if (hold_ups.size() > kShown) result += fmt::format(", {} more", hold_ups.size() - kShown);
    return result;
}

}  // namespace fairswitch
