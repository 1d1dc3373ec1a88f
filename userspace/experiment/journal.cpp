#include "userspace/experiment/journal.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/descriptor.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

constexpr const char* kMark = "FAIRSWITCH_RUN";
constexpr int kAttempts = 100;
constexpr auto kAttempt = 20ms;

bool is_marked(const std::string& environ_file, const std::string& mark) {
    const std::string text = whole_file(environ_file);
    std::istringstream in(text);
    for (std::string entry; std::getline(in, entry, '\0');)
        if (entry == mark) return true;
    return false;
}

// By a descriptor, so that it hits nobody else should the pid be given anew meanwhile.
bool kill_if_marked(pid_t pid, const std::string& environ_file, const std::string& mark) {
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process || !is_marked(environ_file, mark)) return false;
    return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

size_t kill_marked(const std::string& proc, const std::string& mark) {
    size_t killed = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(proc, error)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string environ_file = entry.path() / "environ";
        const auto pid = static_cast<pid_t>(std::stol(name));
        if (pid == getpid() || !is_marked(environ_file, mark)) continue;
        killed += kill_if_marked(pid, environ_file, mark);
    }
    return killed;
}

}  // namespace

Journal::Journal(std::string file) : file_(std::move(file)) {}

Journal::~Journal() {
    std::error_code error;
    fs::remove(file_, error);
}

std::vector<std::string> Journal::put_back() {
    std::vector<std::string> lines, told;
    std::istringstream text(whole_file(file_));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::reverse(lines.begin(), lines.end());
    for (const std::string& line : lines) {
        std::istringstream in(line);
        std::string what, path, value;
        std::getline(in, what, '\t');
        std::getline(in, path, '\t');
        std::getline(in, value);
        if (what == "write") {
            std::ofstream(path) << value << std::flush;
            told.push_back(fmt::format("{} was put back to {}", path, value));
        } else if (what == "remove") {
            remove_cgroup(path);
            told.push_back(fmt::format("{} was removed", path));
        }
    }
    std::error_code error;
    fs::remove(file_, error);
    return told;
}

void Journal::will_write(const std::string& path, const std::string& value) {
    note("write\t" + path + "\t" + value);
}

void Journal::will_make(const std::string& folder) { note("remove\t" + folder + "\t"); }

void Journal::note(const std::string& line) {
    std::error_code error;
    fs::create_directories(fs::path(file_).parent_path(), error);
    std::ofstream out(file_, std::ios::app);
    out << line << "\n" << std::flush;
    if (!out)
        fail(Exit::kImpossible,
             "cannot write {}, from which a killed run's changes would be put back: {}", file_,
             std::strerror(errno));
}

void remove_cgroup(const std::string& folder) {
    if (!fs::exists(folder)) return;
    if (fs::exists(folder + "/cgroup.kill")) std::ofstream(folder + "/cgroup.kill") << "1";
    // A cgroup can be removed once its last task is gone.
    std::error_code error;
    for (int attempt = 0; attempt < kAttempts && !fs::remove(folder, error); ++attempt) {
        if (error != std::errc::device_or_resource_busy) break;
        std::this_thread::sleep_for(kAttempt);
    }
}

size_t end_left_behind(const std::string& run, const std::string& proc) {
    const std::string mark = fmt::format("{}={}", kMark, run);
    size_t killed = 0;
    // Again and again: they may be forking. One that was killed has no environment any more.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const size_t now = kill_marked(proc, mark);
        if (now == 0) break;
        killed += now;
        std::this_thread::sleep_for(kAttempt);
    }
    return killed;
}

void mark_programs(const std::string& run) { setenv(kMark, run.c_str(), 1); }

}  // namespace fairswitch
