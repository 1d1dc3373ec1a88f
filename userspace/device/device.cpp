#include "userspace/device/device.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "userspace/base/failure.h"
#include "userspace/device/lease.h"
#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

// The one table of what the ioctls' errors mean; device.h of the module lists them.
std::string explain_errno(int error) {
    switch (error) {
        case ENODEV:
            return "the functions aren't patched now: the livepatch is disabled or in transition; "
                   "see `fairswitch status`";
        case ENOLINK:
            return "there is no session, or it has ended; see `fairswitch status`";
        case EPERM:
            return "the session belongs to another process";
        case EINVAL:
            return "the module refuses a value; are this program and the module from one build?";
        case ENOSPC:
            return "the module's watch table is full; watch fewer tasks";
        case ESRCH:
            return "there is no such task";
        case EALREADY:
            return "recording is on already";
        case ENOTTY:
            return "the module doesn't know this request; are this program and the module from one "
                   "build?";
        default:
            return std::strerror(error);
    }
}

[[noreturn]] void fail_open(int error) {
    if (error == EACCES || error == EPERM) {
        fail(Exit::kImpossible, "can't open {}: {}; run as root", FSW_DEVICE_PATH,
             std::strerror(error));
    }
    if (error == ENOENT || error == ENXIO || error == ENODEV) {
        fail(Exit::kImpossible,
             "no {}: the fairswitch module is not loaded; load it with `fairswitch load MODULE.ko`",
             FSW_DEVICE_PATH);
    }
    fail(Exit::kImpossible, "can't open {}: {}", FSW_DEVICE_PATH, std::strerror(error));
}

template <typename... Argument>
void request(int fd, const char* what, unsigned long number, Argument*... argument) {
    int result;
    do {
        result = ::ioctl(fd, number, argument...);
    } while (result < 0 && errno == EINTR);
    if (result < 0) fail(Exit::kRunFailed, "can't {}: {}", what, explain_errno(errno));
}

}  // namespace

Device::Device() : fd_(::open(FSW_DEVICE_PATH, O_RDWR | O_CLOEXEC)) {
    if (!fd_) fail_open(errno);
    request(fd(), "ask the module what it is", FSW_IOC_INFO, &info_);
    if (info_.abi != FSW_ABI) {
        fail(Exit::kImpossible,
             "the loaded module has ABI {}, this program {}; unload the module and load the one "
             "built with this program",
             info_.abi, FSW_ABI);
    }
    for (std::uint32_t i = 0; i < info_.variants; ++i) {
        fsw_variant variant{};
        variant.index = i;
        request(fd(), "ask the module for its variants", FSW_IOC_VARIANT, &variant);
        variant.id[FSW_ID_BYTES - 1] = '\0';
        variants_.push_back({.index = i, .id = variant.id, .stock_with = variant.stock_with != 0});
    }
}

fsw_status Device::status() const {
    fsw_status status{};
    request(fd(), "ask the module for its state", FSW_IOC_STATUS, &status);
    return status;
}

fsw_set Device::set(std::uint32_t arm, std::uint32_t positions) const {
    fsw_set set{};
    set.arm = arm;
    set.positions = positions;
    request(fd(), "set the arm", FSW_IOC_SET, &set);
    return set;
}

Session::Session(Device device, std::chrono::milliseconds lease) : device_(std::move(device)) {
    fsw_session session{};
    session.lease_ms = static_cast<std::uint32_t>(lease.count());
    if (::ioctl(device_.fd(), FSW_IOC_SESSION, &session) != 0) {
        if (errno == EBUSY) {
            fail(Exit::kRunFailed,
                 "can't begin a session: {} has one; there is one at a time: end it first",
                 process_name(static_cast<pid_t>(session.owner_pid)));
        }
        fail(Exit::kRunFailed, "can't begin a session: {}", explain_errno(errno));
    }
    lease_ = std::make_unique<Lease>(device_.fd(), lease / 4);
}

Session::~Session() = default;

void Session::record(std::uint32_t kinds, std::uint32_t detail) {
    fsw_record_ctl control{};
    control.kinds = kinds;
    control.detail = detail;
    request(device_.fd(), "switch recording", FSW_IOC_RECORD, &control);
}

void Session::watch(std::uint32_t op, pid_t pid) {
    fsw_watch watch{};
    watch.op = op;
    watch.pid = static_cast<std::uint32_t>(pid);
    const std::string what =
        op == FSW_WATCH_CLEAR ? "clear the watch table" : "watch " + process_name(pid);
    request(device_.fd(), what.c_str(), FSW_IOC_WATCH, &watch);
}

void Session::watch_process(pid_t pid) { watch(FSW_WATCH_TGID, pid); }
void Session::watch_thread(pid_t tid) { watch(FSW_WATCH_PID, tid); }
void Session::watch_clear() { watch(FSW_WATCH_CLEAR, 0); }

void Session::filter(const fsw_filter& filter) {
    fsw_filter argument = filter;
    request(device_.fd(), "set the filter", FSW_IOC_FILTER, &argument);
}

void Session::trigger(std::uint64_t latency_ns, std::uint32_t after_ms) {
    fsw_trigger argument{};
    argument.latency_ns = latency_ns;
    argument.after_ms = after_ms;
    request(device_.fd(), "set the trigger", FSW_IOC_TRIGGER, &argument);
}

bool Session::rearm() {
    if (::ioctl(device_.fd(), FSW_IOC_REARM) == 0) return true;
    if (errno == EAGAIN) return false;
    fail(Exit::kRunFailed, "can't arm the rings again: {}", explain_errno(errno));
}

void Session::watch_name(const std::string& name) {
    fsw_watch watch{};
    watch.op = FSW_WATCH_COMM;
    if (name.empty() || name.size() >= FSW_COMM_BYTES) {
        fail(Exit::kUsage, "`{}` is no thread's name; expected 1 to {} bytes", name,
             FSW_COMM_BYTES - 1);
    }
    std::memcpy(watch.comm, name.data(), name.size());
    request(device_.fd(), "watch a name", FSW_IOC_WATCH, &watch);
}

void Session::mark(std::uint32_t id, std::uint64_t value) {
    fsw_mark mark{};
    mark.id = id;
    mark.value = value;
    request(device_.fd(), "set a marker", FSW_IOC_MARK, &mark);
}

bool Session::alive() const { return lease_->held(); }

void Session::check_alive() const {
    if (alive()) return;
    fail(Exit::kRunFailed, "the session was ended by the kernel: {}; the arm is stock again",
         end_reason(device_.status().last_end));
}

std::string_view end_reason(std::uint32_t reason) {
    switch (reason) {
        case FSW_SWAP_SESSION_END:
            return "its descriptor was closed";
        case FSW_SWAP_LEASE_OVER:
            return "its lease wasn't renewed in time (program stopped, or starved of CPU)";
        case FSW_SWAP_OPENER_DEAD:
            return "its process died";
        case FSW_SWAP_UNPATCH:
            return "the livepatch is being removed";
        case FSW_SWAP_UNSPECIFIED:
            return "no session has ended yet";
        default:
            return "for a reason that this program doesn't know";
    }
}

}  // namespace fairswitch
