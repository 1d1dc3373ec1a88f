// Renews a session's lease from a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "userspace/device/device.h"

namespace fairswitch {

class Session::Lease {
  public:
    // `device` outlives the lease.
    Lease(int device, std::chrono::milliseconds period);
    // Stops renewing; the kernel ends the session when the descriptor is closed.
    ~Lease();

    // False once a renewal was refused: the session is over.
    bool held() const { return held_.load(std::memory_order_relaxed); }

  private:
    void renew();

    const int device_;
    const std::chrono::milliseconds period_;
    std::atomic<bool> held_{true};
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace fairswitch
