// Why a wakeup was late: one period, its decisions and who ran instead.
//
// The cause of a latency is the longest of its parts; a wait is told by the decision made about the
// wakee when it was woken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/evidence.h"
#include "userspace/analysis/join.h"

namespace fairswitch {

enum class Cause : size_t {
    kTimer,        // the timer fired late
    kWake,         // fired, but the wakeup came late
    kKeptDelayed,  // kept: the pick was an entity that only waits to be dequeued
    kKeptOther,    // kept: the pick was another runnable entity
    kKeptBrief,    // kept: the pick was another; a Brief doesn't tell whether it sleeps
    kKeptPolicy,   // kept: idle or batch
    kKeptPending,  // no check: curr was already to be rescheduled, another was picked then
    kKeptThrottled,
    kKeptSync,       // a sync wakeup, a new task or a delayed wakee
    kKeptClass,      // another scheduling class decides
    kKeptFeature,    // wakeup preemption is switched off
    kPreemptWaited,  // preempt decided, yet it waited
    kStillRunning,   // woken before it had left the CPU: no check is made, then others ran
    kCpuStalled,     // woken while on the CPU, which it hadn't left for most of the latency
    kIdleTarget,     // its CPU was idle and slow to switch: no decision to make
    kIdleOthers,     // its CPU was idle, and the next picks chose others
    kReadLate,       // switched in, preempted again before it read the clock
    kAfter,          // switched in and never out: the read itself was late
    // What can't be explained, with the reason:
    kNoDecision,  // waited on a busy CPU and no decision is in the log
    kNoSwitch,    // no switch-in in the log
    kRecordsLost,
    kContrary,  // the sample contradicts its records
    kCount,
};

const char* cause_text(Cause cause);
bool cause_explains(Cause cause);

// Decisions about measured threads, and everything decided in chosen stretches of time.
class DecisionStore {
  public:
    struct Window {
        uint64_t from_ns;
        uint64_t to_ns;
    };
    DecisionStore(std::vector<uint32_t> wakees, std::vector<Window> windows);

    void add(const model::Record& record);
    void finish();

    // About the period's thread, from its wakeup to its switch-in, in order.
    std::vector<const model::Decision*> about(const Period& period) const;
    // On that runqueue in that time, about anyone, in order; only inside windows.
    std::vector<const model::Decision*> on(uint32_t rq_cpu, uint64_t from_ns, uint64_t to_ns) const;
    std::vector<const model::Requeue*> requeues(const Period& period) const;

  private:
    void merge_windows();
    bool in_window(uint64_t time_ns) const;

    std::vector<uint32_t> wakees_;
    std::vector<Window> windows_;  // by time, without overlap
    std::map<uint32_t, std::vector<model::Decision>> by_wakee_;
    std::map<uint32_t, std::vector<model::Decision>> by_rq_;
    std::map<uint32_t, std::vector<model::Requeue>> requeues_;  // by pid
};

// Who ran on the CPU while the thread waited.
struct RunSlice {
    uint32_t pid = 0;
    uint64_t from_ns = 0;
    uint64_t to_ns = 0;
    bool ended_asleep = false;  // else it was preempted
};
std::vector<RunSlice> who_ran(const Period& period, const Evidence& evidence,
                              const DecisionStore& decisions);

// A latency in its parts, in order of time; together they are all of it.
struct LatencyParts {
    int64_t timer_ns = 0;    // expected → fired, slack included
    int64_t wake_ns = 0;     // fired → woken
    int64_t stalled_ns = 0;  // woken → off the CPU that it hadn't left yet
    int64_t waiting_ns = 0;  // → first switched in
    int64_t again_ns = 0;    // → switched in for the last time, preempted in between
    int64_t after_ns = 0;    // → clock read

    int64_t longest() const;
};
LatencyParts parts_of(const Period& period, const Evidence& evidence);

Cause cause_of(const Period& period, const Evidence& evidence, const DecisionStore& decisions);

// Periods above the threshold, counted by arm and cause.
std::map<uint32_t, std::vector<uint64_t>> causes_by_arm(const Join& join, const Evidence& evidence,
                                                        const DecisionStore& decisions,
                                                        int64_t threshold_ns);

// Indices into join.periods of the n most late samples that are in the table, the worst first.
std::vector<size_t> worst_periods(const Join& join, size_t n);
std::vector<DecisionStore::Window> windows_of(const Join& join, const std::vector<size_t>& periods);
std::vector<uint32_t> measured_pids(const Join& join);

}  // namespace fairswitch
