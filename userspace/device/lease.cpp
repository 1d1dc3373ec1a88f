#include "userspace/device/lease.h"

#include <sys/ioctl.h>

#include <cerrno>

namespace fairswitch {

Session::Lease::Lease(int device, std::chrono::milliseconds period)
    : device_(device), period_(period), thread_([this] { renew(); }) {}

Session::Lease::~Lease() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Session::Lease::renew() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, period_, [this] { return stopping_; })) {
        if (::ioctl(device_, FSW_IOC_LEASE) != 0 && errno != EINTR) {
            held_.store(false, std::memory_order_relaxed);
            return;
        }
    }
}

}  // namespace fairswitch
