// A program run beside us in its own process group, whose output goes to a file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace fairswitch {

class ChildProcess {
  public:
    // Runs `command` by /bin/sh with standard output and error appended to `output`. The child is
    // held before it executes anything until release(), so that it can be watched from its first
    // instruction on. It dies with us; our Ctrl-C doesn't reach it.
    ChildProcess(const std::string& command, const std::string& output);
    // Kills the group.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    void release();
    pid_t pid() const { return pid_; }
    bool running();
    // Sends the signal to the group and waits; SIGKILL when the patience is over.
    void stop(int signal, std::chrono::milliseconds patience);
    // "exit status 1", "killed by signal 9", "running".
    std::string outcome() const;
    bool failed() const;  // ended by itself with a status other than 0
    // The end of its output, for a message.
    std::string last_words() const;

  private:
    bool wait_for(std::chrono::milliseconds patience);

    const std::string output_;
    pid_t pid_ = -1;
    int hold_ = -1;  // our end of the pipe that holds the child
    bool stopped_by_us_ = false;
    std::optional<int> status_;
};

}  // namespace fairswitch
