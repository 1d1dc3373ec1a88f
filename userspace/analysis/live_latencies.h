// Latencies of a run that is still going on, from its records: from the moment that a measuring
// thread expected to the switch that brought it onto a CPU.
//
// They lack the microseconds until the program reads the clock, and come at once whatever the
// program prints and when. A process's main thread isn't measured: it prints.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "userspace/log/model.h"
#include "userspace/log/overlay.h"

namespace fairswitch {

class LiveLatencies {
  public:
    // Whole records as the rings hold them, in any order of CPUs. Safe beside the other calls.
    void add(Bytes records);

    // Of the wakeups that were due in [begin, end), by thread and time. `tgid`: the measuring
    // process.
    std::vector<int64_t> between(uint64_t begin_ns, uint64_t end_ns, uint32_t tgid);
    // What is before that moment isn't asked for again.
    void forget_before(uint64_t moment_ns);

  private:
    struct Wakeup {
        uint64_t woken_ns = 0;
        uint64_t expected_ns = 0;
    };

    void keep(const model::Record& record);

    std::mutex mutex_;
    model::Record record_;
    std::map<uint32_t, std::vector<Wakeup>> wakeups_;     // by pid
    std::map<uint32_t, std::vector<uint64_t>> switches_;  // by pid that was switched in
};

}  // namespace fairswitch
