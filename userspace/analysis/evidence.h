// What a log tells about the watched threads, in order: the input of the join.
//
// Everything kept here is about watched threads, swaps and marks; decisions and the like of other
// threads are only counted (tally.h), so memory grows with wakeups measured, not with the log.
//
// Order: the switches of one CPU are ordered by Stamp.seq (its runqueue's own count), wakes of a
// thread by time: they come from any CPU and stand under no runqueue's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "userspace/base/text.h"
#include "userspace/log/model.h"

namespace fairswitch {

// A thread leaves or enters a CPU.
struct SwitchPoint {
    uint64_t time_ns = 0;
    uint32_t cpu = 0;
    bool in = false;
};

class Evidence {
  public:
    void add(const model::Record& record);
    // Sorts; call it after the last add() of each recording. Later ones are of the same boot, but
    // their sequence numbers may count anew.
    void finish();

    const std::map<uint32_t, std::vector<model::Wake>>& wakes() const { return wakes_; }
    const std::vector<model::Switch>& switches(uint32_t cpu) const;
    const std::map<uint32_t, std::vector<model::Switch>>& switches() const { return switches_; }
    std::vector<SwitchPoint> switch_points(uint32_t pid) const;
    const std::vector<model::Swap>& swaps() const { return swaps_; }
    const std::vector<model::Marker>& markers() const { return markers_; }
    const std::vector<model::Lost>& lost() const { return lost_; }
    const std::vector<model::Sample>& samples() const { return samples_; }
    const std::map<uint32_t, std::vector<model::Task>>& tasks() const { return tasks_; }

    uint64_t records_lost() const;
    // Records were lost in [from, to].
    bool lost_within(uint64_t from_ns, uint64_t to_ns) const;

    // What the pid was at that time; null if no record told.
    const model::Task* task_at(uint32_t pid, uint64_t time_ns) const;
    // "hackbench/790", "idle" for 0, "pid 790" if unknown.
    std::string who(uint32_t pid, uint64_t time_ns) const;

    uint64_t first_ns() const { return first_ns_; }
    uint64_t last_ns() const { return last_ns_; }

  private:
    std::map<uint32_t, std::vector<model::Wake>> wakes_;       // by pid
    std::map<uint32_t, std::vector<model::Switch>> switches_;  // by CPU
    std::map<uint32_t, size_t> finished_;                      // switches of finished recordings
    std::map<uint32_t, std::vector<model::Task>> tasks_;       // by pid
    std::vector<model::Swap> swaps_;
    std::vector<model::Marker> markers_;
    std::vector<model::Lost> lost_;
    std::vector<model::Sample> samples_;
    uint64_t first_ns_ = 0;
    uint64_t last_ns_ = 0;
};

}  // namespace fairswitch
