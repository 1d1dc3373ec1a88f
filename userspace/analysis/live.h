// The last seconds of a recording that is still going on: decisions per second by arm, verdict and
// path, and the watched threads' worst latencies with their causes.
//
// Memory is bounded by what a few seconds bring. "Now" is the latest time in the records, so a
// recorded log replays as it was.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/analysis/join.h"
#include "userspace/analysis/story.h"
#include "userspace/log/model.h"

namespace fairswitch {

inline constexpr std::size_t kPathSlots = 128;  // a path is a u7

struct LiveArm {
    uint32_t arm = 0;
    std::string name;
    uint64_t decisions = 0;
    uint64_t preempts = 0;
    // By verdict and path.
    std::array<uint64_t, kPathSlots> keep_paths{};
    std::array<uint64_t, kPathSlots> preempt_paths{};
};

struct LiveLatency {
    int64_t latency_ns = 0;
    uint64_t at_ns = 0;  // when it was to wake
    std::string who;
    uint32_t cpu = 0;
    std::string arm;
    Cause cause = Cause::kNoDecision;
    int64_t longest_ns = 0;  // the part that is the cause
};

struct LiveSnapshot {
    uint64_t now_ns = 0;
    uint64_t begin_ns = 0;  // of the recording
    double seconds = 0;     // that the counts below cover
    std::vector<LiveArm> arms;
    std::optional<uint32_t> arm;  // seen last
    uint64_t wakeups = 0;         // of watched threads, that were switched in
    std::vector<LiveLatency> worst;
    uint64_t lost = 0;  // since the begin
    uint64_t records = 0;
};

class LiveView {
  public:
    // `header` names the arms; `window_s` is how far back it looks.
    LiveView(const Header& header, unsigned window_s);

    void add(const model::Record& record);
    LiveSnapshot snapshot(size_t worst) const;
    uint64_t now_ns() const { return now_ns_; }

  private:
    struct Bucket {
        uint64_t second = 0;
        std::map<uint32_t, LiveArm> arms;
    };

    uint64_t window_begin() const;
    void count(const model::Decision& decision);
    void keep(const model::Record& record);
    void prune();
    std::string arm_name(uint32_t arm) const;
    void add_arms(LiveSnapshot& snapshot) const;
    void add_latencies(LiveSnapshot& snapshot, size_t worst) const;
    std::vector<Period> periods(const Evidence& evidence) const;

    const uint64_t window_ns_;
    uint64_t begin_ns_ = 0;
    uint64_t now_ns_ = 0;
    uint64_t records_ = 0;
    uint64_t lost_ = 0;
    std::optional<uint32_t> arm_;
    std::map<uint32_t, std::string> arm_names_;
    std::deque<Bucket> buckets_;  // of one second each, by time
    // Of watched threads, in order of arrival.
    std::deque<model::Wake> wakes_;
    std::deque<model::Switch> switches_;
    std::deque<model::Decision> decisions_;
    std::deque<model::Requeue> requeues_;
    std::deque<model::Lost> losses_;
    std::unordered_set<uint32_t> watched_;  // pids that woke
    std::map<uint32_t, model::Task> tasks_;
};

// A screen for people, one string a line; a line for where there is no screen.
std::vector<std::string> live_screen(const LiveSnapshot& snapshot);
std::string live_line(const LiveSnapshot& snapshot);

}  // namespace fairswitch
