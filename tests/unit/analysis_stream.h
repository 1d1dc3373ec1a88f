// A made-up machine: one cyclictest thread whose wakeups, decisions and switches are known, so that
// the join and the stories can be checked against the truth.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/cyclictest.h"
#include "userspace/analysis/evidence.h"
#include "userspace/analysis/join.h"
#include "userspace/log/model.h"

namespace fairswitch::test {

constexpr uint64_t kStart = 1'000'000'000;
constexpr uint64_t kInterval = 2'777'000;
constexpr uint32_t kPid = 812;
constexpr uint32_t kTgid = 811;
constexpr uint32_t kHog = 790;
constexpr uint32_t kReadCost = 4'000;  // switched in → clock read

class Stream {
  public:
    Stream() {
        task(kPid, kTgid, "cyclictest", kStart - 1, 100);
        task(kHog, kHog, "hackbench", kStart - 1, 90);
    }

    model::Stamp stamp(uint64_t time, uint32_t cpu = 0) {
        return {time, ++seq_[cpu], cpu, cpu, arm, generation};
    }

    void task(uint32_t pid, uint32_t tgid, const char* comm, uint64_t time, uint64_t start) {
        model::Task task;
        task.stamp = stamp(time);
        task.pid = pid;
        task.tgid = tgid;
        task.start_ns = start;
        std::strncpy(task.comm.data(), comm, task.comm.size());
        records.push_back(task);
    }

    void marker(uint32_t id, uint64_t value, uint64_t time) {
        model::Marker marker;
        marker.stamp = stamp(time);
        marker.id = id;
        marker.value = value;
        records.push_back(marker);
    }

    void swap(uint32_t to, uint64_t time) {
        model::Swap swap;
        swap.old_arm = arm;
        swap.old_generation = generation;
        arm = to;
        ++generation;
        swap.stamp = stamp(time);
        swap.reason = FSW_SWAP_SET;
        swap.requested_ns = time - 1000;
        swap.delayed_in_flight = 2;
        records.push_back(swap);
    }

    void switched(uint64_t time, uint32_t prev, uint32_t next, bool preempted, uint32_t cpu = 0) {
        model::Switch s;
        s.stamp = stamp(time, cpu);
        s.prev_pid = prev;
        s.next_pid = next;
        s.prev_state = preempted || prev == 0 ? 0 : 1;
        s.preempted = preempted;
        records.push_back(s);
    }

    void decision(uint64_t time, uint32_t wakee, bool preempt, bool picked_delayed) {
        model::Decision d;
        d.stamp = stamp(time);
        d.path = preempt ? FSW_PATH_PICK_PREEMPT : FSW_PATH_PICK_KEEP;
        d.verdict = preempt ? FSW_VERDICT_PREEMPT : FSW_VERDICT_KEEP;
        d.resched = preempt ? FSW_RESCHED_NOW_LOCAL : FSW_RESCHED_NONE;
        d.wakee_pid = wakee;
        d.curr_pid = kHog;
        d.wakee = entity(wakee, 1'000'000, FSW_ENTITY_ELIGIBLE);
        d.curr = entity(kHog, -500'000, FSW_ENTITY_PROTECTED);
        d.picked =
            preempt ? d.wakee : entity(801, 2'000'000, picked_delayed ? FSW_ENTITY_DELAYED : 0);
        d.queue.emplace();
        d.queue->avg_vruntime_ns = 50'000'000;
        d.queue->picks = 1;
        if (picked_delayed) d.queue->branches |= FSW_BRANCH_DELAYED_PICKED;
        records.push_back(d);
    }

    static model::Entity entity(uint32_t pid, int64_t lag, uint32_t flags) {
        model::Entity e;
        e.pid = pid;
        e.flags = flags | FSW_ENTITY_TASK;
        e.slice_ns = 2'800'000;
        e.lag_ns = lag;
        e.deadline_ns = 50'000'000 + 310'000;
        return e;
    }

    void wake(uint64_t expected, uint64_t time, uint32_t pid = kPid) {
        model::Wake w;
        w.stamp = {time, 0, 0, 0, arm, generation};  // under no runqueue's lock
        w.pid = pid;
        w.waker_pid = kHog;
        w.source = FSW_WAKE_TIMER;
        w.timer_slack_ns = 50'000;
        w.timer = model::Timer{expected, expected + 50'000, time - 3'000, 0, 1};
        records.push_back(w);
    }

    // One whole period: woken at 58 us, switched in at `in` after the expected moment.
    void period(uint64_t index, uint64_t in, bool recorded = true, bool printed = true,
                uint32_t pid = kPid) {
        const uint64_t expected = kStart + index * kInterval;
        const bool late = in > 1'000'000;
        if (recorded) {
            wake(expected, expected + 58'000, pid);
            decision(expected + 60'000, pid, !late, late);
            switched(expected + in, kHog, pid, !late);
            switched(expected + in + kReadCost + 6'000, pid, kHog, false);
        }
        if (printed) {
            auto us = static_cast<int64_t>((in + kReadCost) / 1000);
            samples.push_back({0, cycle, us * 1000});
        }
        ++cycle;
    }

    // Latencies that differ enough for the join to tell periods apart.
    static uint64_t usual(uint64_t index) {
        uint64_t x = (index + 1) * 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        return 62'000 + (x >> 33) % 41 * 1000;
    }

    Evidence evidence() const {
        Evidence evidence;
        for (const model::Record& record : records) evidence.add(record);
        evidence.finish();
        return evidence;
    }

    std::vector<model::Record> records;
    std::vector<CyclicSample> samples;
    uint32_t arm = 0;
    uint32_t generation = 1;
    uint64_t cycle = 0;

  private:
    std::map<uint32_t, uint64_t> seq_;
};

// As a recording at detail `brief` has them.
inline void make_brief(std::vector<model::Record>& records) {
    for (model::Record& record : records) {
        const auto* decision = std::get_if<model::Decision>(&record);
        if (decision == nullptr) continue;
        model::Brief brief;
        brief.stamp = decision->stamp;
        brief.path = decision->path;
        brief.verdict = decision->verdict;
        brief.wakee_pid = decision->wakee_pid;
        brief.curr_pid = decision->curr_pid;
        if (decision->picked) brief.picked_pid = decision->picked->pid;
        record = brief;
    }
}

}  // namespace fairswitch::test
