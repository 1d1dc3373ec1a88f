#include "userspace/experiment/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace std::chrono_literals;

// Between fork and exec: only what is safe after a fork of a threaded process.
[[noreturn]] void run_child(const char* command, int output, int hold, pid_t parent) {
    setpgid(0, 0);
    setpriority(PRIO_PROCESS, 0, 0);  // ours may be raised
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    restore_write_signals();
    char go = 0;
    if (read(hold, &go, 1) != 1) _exit(127);
    execl("/bin/sh", "sh", "-c", command, nullptr);
    _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command, const std::string& output)
    : output_(output) {
    int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) fail(Exit::kRunFailed, "cannot write {}: {}", output, std::strerror(errno));
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) < 0) {
        close(file);
        fail(Exit::kRunFailed, "cannot make a pipe: {}", std::strerror(errno));
    }
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
        // Our end must not keep the read below alive when we die.
        close(pipe[1]);
        run_child(command.c_str(), file, pipe[0], parent);
    }
    const int error = errno;
    close(file);
    close(pipe[0]);
    hold_ = pipe[1];
    if (pid_ < 0) {
        close(hold_);
        fail(Exit::kRunFailed, "cannot start `{}`: {}", command, std::strerror(error));
    }
    setpgid(pid_, pid_);
}

ChildProcess::~ChildProcess() {
    if (hold_ >= 0) close(hold_);
    if (running()) stop(SIGKILL, 0ms);
    // What the program left behind in its group.
    if (pid_ > 0) kill(-pid_, SIGKILL);
}

std::string ChildProcess::last_words() const {
    constexpr size_t kMost = 400;
    const std::string text = whole_file(output_);
    return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

void ChildProcess::release() {
    const char go = 1;
    if (hold_ >= 0 && write(hold_, &go, 1) != 1)
        fail(Exit::kRunFailed, "a program died before it was started: {}", std::strerror(errno));
    close(hold_);
    hold_ = -1;
}

bool ChildProcess::running() {
    if (pid_ <= 0 || status_) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
    status_ = status;
    return false;
}

bool ChildProcess::wait_for(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (running()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

void ChildProcess::stop(int signal, std::chrono::milliseconds patience) {
    if (!running()) return;
    stopped_by_us_ = true;
    kill(-pid_, signal);
    if (wait_for(patience)) return;
    kill(-pid_, SIGKILL);
    int status = 0;
    if (waitpid(pid_, &status, 0) == pid_) status_ = status;
}

std::string ChildProcess::outcome() const {
    if (!status_) return "running";
    if (WIFSIGNALED(*status_)) return fmt::format("ended by signal {}", WTERMSIG(*status_));
    return fmt::format("exit status {}", WEXITSTATUS(*status_));
}

bool ChildProcess::failed() const { return status_ && !stopped_by_us_ && *status_ != 0; }

}  // namespace fairswitch
