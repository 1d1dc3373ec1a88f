// /dev/fairswitch: ioctls, with every errno told in prose.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fairswitch/device.h"
#include "userspace/device/arm.h"
#include "userspace/log/descriptor.h"

namespace fairswitch {

// The open device. Throws Failure (kImpossible) when not root or without the module, with what to
// do.
class Device {
  public:
    Device();

    const fsw_info& info() const { return info_; }
    const std::vector<Variant>& variants() const { return variants_; }
    fsw_status status() const;
    // Needs a live session, anyone's. Arm 0 must name the stock positions.
    fsw_set set(std::uint32_t arm, std::uint32_t positions) const;
    int fd() const { return fd_.get(); }

  private:
    Descriptor fd_;
    fsw_info info_{};
    std::vector<Variant> variants_;
};

// The one session of the machine: while it lives its arm is in force and it may record. It ends
// with this object (the descriptor is closed, gates go back to stock), with the process, or when
// the lease isn't renewed, which a thread of its own does.
class Session {
  public:
    explicit Session(Device device,
                     std::chrono::milliseconds lease = std::chrono::milliseconds(2000));
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Device& device() const { return device_; }
    fsw_set set(std::uint32_t arm, std::uint32_t positions) { return device_.set(arm, positions); }
    // Kinds: mask of 1 << FSW_KIND_x, 0 stops; detail: enum fsw_detail.
    void record(std::uint32_t kinds, std::uint32_t detail = FSW_DETAIL_FULL);
    void watch_process(pid_t pid);     // every thread of it, present and future
    void watch_thread(pid_t tid);
    void watch_name(const std::string& name);  // every thread of it, present and future
    void watch_clear();
    void filter(const fsw_filter& filter);  // all zero: none
    // Overwriting rings that freeze after a late wakeup; 0: ordinary rings. Before recording.
    void trigger(std::uint64_t latency_ns, std::uint32_t after_ms);
    // Frozen rings: empties them and goes on. False if recording has stopped meanwhile.
    bool rearm();
    void mark(std::uint32_t id, std::uint64_t value);
    // False once the kernel has ended the session: lease over, functions unpatched.
    bool alive() const;
    // Throws Failure with the kernel's reason unless alive.
    void check_alive() const;

  private:
    class Lease;
    void watch(std::uint32_t op, pid_t pid);

    Device device_;
    std::unique_ptr<Lease> lease_;
};

// All kinds that can be asked for.
std::uint32_t all_kinds();
// "decision,requeue": a mask. Throws Failure (kUsage) naming the kinds there are.
std::uint32_t parse_kinds(std::string_view text);
// "full" or "brief": enum fsw_detail. Throws Failure (kUsage) for anything else.
std::uint32_t parse_detail(std::string_view text);
// Why a session ended (enum fsw_swap_reason), for people.
std::string_view end_reason(std::uint32_t reason);

}  // namespace fairswitch
