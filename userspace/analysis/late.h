// The wakeups of watched threads that were later than a threshold, from one reading of a log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "userspace/log/model.h"

namespace fairswitch {

struct LateWakeup {
    uint32_t pid = 0;
    uint64_t expected_ns = 0;  // when its timer should have fired, else when it was woken
    int64_t latency_ns = 0;    // until it was switched in
};
using LateList = std::multimap<uint64_t, LateWakeup>;  // by when it was switched in

class LateWakeups {
  public:
    explicit LateWakeups(int64_t threshold_ns) : threshold_ns_(threshold_ns) {}

    void add(const model::Record& record);
    void finish();

    // The earliest of them, as many as are kept; the others are only counted.
    const LateList& list() const { return list_; }
    uint64_t late() const { return late_; }
    uint64_t wakeups() const { return wakeups_; }  // that were followed by a switch-in

  private:
    struct Event {
        bool is_wake = false;
        uint64_t expected_ns = 0;
    };
    // A thread's wakeups and switches stand in the rings of several CPUs, so they are sorted by
    // time over a stretch longer than the rings are drained in.
    struct Thread {
        std::multimap<uint64_t, Event> events;  // by time
        std::optional<uint64_t> expected_ns;    // woken, not yet switched in
    };

    void add_event(uint32_t pid, uint64_t time_ns, Event event);
    void take_oldest(uint32_t pid, Thread& thread);
    void measure(uint32_t pid, uint64_t expected_ns, uint64_t in_ns);

    const int64_t threshold_ns_;
    std::map<uint32_t, Thread> threads_;  // by pid, of those that were woken
    LateList list_;
    uint64_t late_ = 0;
    uint64_t wakeups_ = 0;
};

}  // namespace fairswitch
