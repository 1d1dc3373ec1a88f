// A livepatch in /sys/kernel/livepatch: its state, its transition, and what holds that up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace fairswitch {

// A task that hasn't changed over to the transition's target yet.
struct HoldUp {
    pid_t tid = 0;
    std::string comm;
    std::string stack;  // innermost frames, "a < b < c"; empty if it can't be read
};

inline constexpr const char* kLivepatchFolder = "/sys/kernel/livepatch";

class Livepatch {
  public:
    explicit Livepatch(std::string name, const std::string& folder = kLivepatchFolder);

    const std::string& name() const { return name_; }
    bool present() const;
    bool enabled() const;
    bool in_transition() const;
    // Patched functions of vmlinux and of modules, by name.
    std::vector<std::string> functions() const;
    // Begins a transition, or reverses the one under way. Throws Failure.
    void set_enabled(bool enabled) const;
    std::vector<HoldUp> hold_ups() const;

    // Called about every 200 ms while waiting; false: give up.
    using Progress = std::function<bool(std::chrono::milliseconds elapsed)>;
    // Waits for the transition's end. False on time-out or when `progress` gave up.
    bool wait(std::chrono::milliseconds limit, const Progress& progress) const;

  private:
    std::string name_;
    std::string folder_;
};

// Every livepatch that the kernel has.
std::vector<std::string> livepatch_names(const std::string& folder = kLivepatchFolder);
// The kernel can do livepatches at all.
bool livepatch_supported();

// "cyclictest/123 (a < b), kworker/45": the first few, for a progress line or a message.
std::string describe(const std::vector<HoldUp>& hold_ups);

}  // namespace fairswitch
