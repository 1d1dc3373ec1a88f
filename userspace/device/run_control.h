// What ends a run: a signal, its time, or its command; and that command as a child that inherits
// neither the device nor the rings.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "userspace/log/descriptor.h"

namespace fairswitch {

// Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD and receives them by itself. Make it before any thread
// is made, so that all threads have them blocked.
class RunControl {
  public:
    RunControl();
    ~RunControl();
    RunControl(const RunControl&) = delete;
    RunControl& operator=(const RunControl&) = delete;

    // Forks the command, which waits for go(). Its pid.
    pid_t prepare(const std::vector<std::string>& command);
    // Lets it run. Throws Failure (kUsage) if it can't be executed.
    void go();

    enum class Event { kNone, kSignal, kCommandEnded };
    // Waits for something to happen, at most this long.
    Event wait(std::chrono::nanoseconds limit);
    // SIGTERM, and SIGKILL when that didn't help; nothing if there is no command running.
    void end_command();

    // The signal that arrived last, 0 if none.
    int signal() const { return signal_; }
    // waitpid()'s status, once the command has ended.
    std::optional<int> command_status() const { return status_; }
    // "cyclictest exited with status 1"; empty while it runs or if it ended well.
    std::string command_trouble() const;

  private:
    void reap();
    [[noreturn]] void become(char* const* arguments, int go, int trouble);

    sigset_t previous_{};
    Descriptor signals_;
    Descriptor go_;       // written to: the command may run
    Descriptor trouble_;  // read from: errno of a failed exec
    std::string name_;
    pid_t child_ = 0;
    int signal_ = 0;
    std::optional<int> status_;
};

}  // namespace fairswitch
