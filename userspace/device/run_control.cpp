#include "userspace/device/run_control.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "userspace/base/beat.h"
#include "userspace/base/failure.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTermPatience(5);

std::pair<Descriptor, Descriptor> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        fail(Exit::kRunFailed, "can't make a pipe: {}", std::strerror(errno));
    }
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

RunControl::RunControl() {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&mask, number);
    ::pthread_sigmask(SIG_BLOCK, &mask, &previous_);
    signals_ = Descriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) fail(Exit::kRunFailed, "can't receive signals: {}", std::strerror(errno));
}

RunControl::~RunControl() {
    end_command();
    ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

pid_t RunControl::prepare(const std::vector<std::string>& command) {
    auto [go_read, go_write] = make_pipe();
    auto [trouble_read, trouble_write] = make_pipe();
    // Before the fork: afterwards only what is safe in a signal handler is.
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    name_ = command.at(0);
    status_.reset();
    child_ = ::fork();
    if (child_ < 0) fail(Exit::kRunFailed, "can't fork: {}", std::strerror(errno));
    if (child_ == 0) {
        // Else the child itself would hold the end whose closing tells it that we are gone.
        go_write = Descriptor();
        become(arguments.data(), go_read.get(), trouble_write.get());
    }
    go_ = std::move(go_write);
    trouble_ = std::move(trouble_read);
    return child_;
}

// In the child.
void RunControl::become(char* const* arguments, int go, int trouble) {
    char byte;
    if (::read(go, &byte, 1) != 1) ::_exit(0);
    ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    restore_write_signals();
    ::execvp(arguments[0], arguments);
    const int error = errno;
    if (::write(trouble, &error, sizeof(error)) < 0) ::_exit(126);
    ::_exit(127);
}

void RunControl::go() {
    const char byte = 1;
    int error = 0;
    if (::write(go_.get(), &byte, 1) != 1) error = errno;
    go_ = Descriptor();
    // End of file: the exec closed the other end.
    if (error == 0 && ::read(trouble_.get(), &error, sizeof(error)) <= 0) error = 0;
    trouble_ = Descriptor();
    if (error != 0) {
        ::waitpid(std::exchange(child_, 0), nullptr, 0);
        fail(Exit::kUsage, "can't run {}: {}", name_, std::strerror(error));
    }
}

void RunControl::reap() {
    int status = 0;
    if (child_ > 0 && ::waitpid(child_, &status, WNOHANG) == child_) {
        child_ = 0;
        status_ = status;
    }
}

RunControl::Event RunControl::wait(std::chrono::nanoseconds limit) {
    const auto end = Clock::now() + limit;
    while (true) {
        signalfd_siginfo info;
        while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
            if (info.ssi_signo != SIGCHLD) {
                signal_ = static_cast<int>(info.ssi_signo);
                return Event::kSignal;
            }
            reap();
            if (status_) return Event::kCommandEnded;
        }
        if (Clock::now() >= end) return Event::kNone;
        pollfd events[] = {{signals_.get(), POLLIN, 0}};
        poll_until(events, end);
    }
}

void RunControl::end_command() {
    go_ = Descriptor();  // one that still waits for go() leaves
    if (child_ <= 0) return;
    ::kill(child_, SIGTERM);
    const auto patience = Clock::now() + kTermPatience;
    while (child_ > 0 && Clock::now() < patience) {
        if (wait(std::chrono::milliseconds(100)) == Event::kNone) reap();
    }
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, 0), nullptr, 0);
}

std::string RunControl::command_trouble() const {
    if (!status_) return {};
    if (WIFSIGNALED(*status_)) {
        return fmt::format("{} was ended by signal {}", name_, WTERMSIG(*status_));
    }
    if (WEXITSTATUS(*status_) != 0) {
        return fmt::format("{} exited with status {}", name_, WEXITSTATUS(*status_));
    }
    return {};
}

}  // namespace fairswitch
