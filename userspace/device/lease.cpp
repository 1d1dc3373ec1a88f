#include "userspace/device/lease.h"

#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "userspace/base/beat.h"

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

namespace {

// The load that an experiment brings must not starve the renewal. A real-time thread that runs for
// microseconds twice a second can't be, and its wakeups aren't decisions of the fair class. Where
// it isn't allowed, the lease is as long as before, only less safe.
void outrank_the_load() {
    const sched_param lowest_realtime{.sched_priority = 1};
    ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &lowest_realtime);
}

}  // namespace

void Session::Lease::renew() {
    outrank_the_load();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_until(lock, next_beat(period_), [this] { return stopping_; })) {
        if (::ioctl(device_, FSW_IOC_LEASE) != 0 && errno != EINTR) {
            held_.store(false, std::memory_order_relaxed);
            return;
        }
    }
}

}  // namespace fairswitch
