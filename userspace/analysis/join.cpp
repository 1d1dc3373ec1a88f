#include "userspace/analysis/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "userspace/analysis/align.h"

namespace fairswitch {
namespace {

// One measured thread: a pid from one start to the next.
struct Thread {
    uint32_t pid = 0;
    uint64_t start_ns = 0;
    bool main = false;
    std::vector<model::Wake> wakes;  // timer wakeups only
};

void collect_threads(const Evidence& evidence, uint32_t pid, const std::vector<model::Wake>& wakes,
                     std::vector<Thread>& threads) {
    Thread* current = nullptr;
    for (const model::Wake& wake : wakes) {
        if (wake.source != FSW_WAKE_TIMER || !wake.timer) continue;
        const model::Task* task = evidence.task_at(pid, wake.stamp.time_ns);
        uint64_t start = task ? task->start_ns : 0;
        if (!current || current->start_ns != start) {
            threads.push_back({pid, start, task && task->tgid == pid, {}});
            current = &threads.back();
        }
        current->wakes.push_back(wake);
    }
}

std::vector<Thread> measured_threads(const Evidence& evidence) {
    std::vector<Thread> threads;
    for (const auto& [pid, wakes] : evidence.wakes())
        collect_threads(evidence, pid, wakes, threads);
    bool any = std::any_of(threads.begin(), threads.end(),
                           [](const Thread& thread) { return !thread.main; });
    if (any) std::erase_if(threads, [](const Thread& thread) { return thread.main; });
    std::stable_sort(threads.begin(), threads.end(), [](const Thread& a, const Thread& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.pid < b.pid;
    });
    return threads;
}

int64_t expected_of(const model::Wake& wake) {
    return static_cast<int64_t>(wake.timer->soft_expiry_ns);
}

uint64_t median_gap(const std::vector<model::Wake>& wakes) {
    std::vector<int64_t> gaps;
    for (size_t i = 1; i < wakes.size(); ++i)
        gaps.push_back(expected_of(wakes[i]) - expected_of(wakes[i - 1]));
    if (gaps.empty()) return 0;
    std::nth_element(gaps.begin(), gaps.begin() + gaps.size() / 2, gaps.end());
    return static_cast<uint64_t>(std::max<int64_t>(gaps[gaps.size() / 2], 0));
}

// The switches of one thread, cut into the stretches between its wakeups.
class Switches {
  public:
    Switches(const Evidence& evidence, uint32_t pid) : points_(evidence.switch_points(pid)) {}

    std::vector<SwitchPoint> ins(uint64_t from_ns, uint64_t to_ns) const {
        auto at = std::lower_bound(
            points_.begin(), points_.end(), from_ns,
            [](const SwitchPoint& point, uint64_t time) { return point.time_ns < time; });
        std::vector<SwitchPoint> out;
        for (; at != points_.end() && at->time_ns < to_ns; ++at)
            if (at->in) out.push_back(*at);
        return out;
    }

    // Its last switch before that moment brought it onto a CPU.
    bool on_cpu(uint64_t time_ns) const {
        auto at = std::lower_bound(
            points_.begin(), points_.end(), time_ns,
            [](const SwitchPoint& point, uint64_t time) { return point.time_ns < time; });
        return at != points_.begin() && std::prev(at)->in;
    }

  private:
    std::vector<SwitchPoint> points_;
};

class Joiner {
  public:
    Joiner(const Evidence& evidence, const std::vector<CyclicSample>* samples,
           const std::vector<Block>& blocks)
        : evidence_(evidence), samples_(samples) {
        for (const Block& block : blocks) out_.blocks.push_back({block, {}, 0, 0});
        out_.from_records = samples == nullptr;
    }

    Join run() {
        std::vector<Thread> threads = measured_threads(evidence_);
        if (threads.empty())
            out_.notes.push_back("no timer wakeup of a watched thread is in the log");
        for (size_t i = 0; i < threads.size(); ++i) join_thread(threads[i], i);
        count_unmatched_threads(threads.size());
        std::stable_sort(
            out_.periods.begin(), out_.periods.end(),
            [](const Period& a, const Period& b) { return a.expected_ns < b.expected_ns; });
        for (Period& period : out_.periods) settle(period);
        return std::move(out_);
    }

  private:
    void join_thread(const Thread& thread, uint32_t number) {
        const uint64_t gap = median_gap(thread.wakes);
        if (out_.interval_ns == 0) out_.interval_ns = gap;
        expect_samples(thread, gap);
        std::vector<Period> periods;
        std::vector<WakeFloors> floors;
        std::vector<std::vector<SwitchPoint>> ins;
        Switches switches(evidence_, thread.pid);
        for (size_t i = 0; i < thread.wakes.size(); ++i) {
            const model::Wake& wake = thread.wakes[i];
            uint64_t next = i + 1 < thread.wakes.size() ? thread.wakes[i + 1].stamp.time_ns
                                                        : evidence_.last_ns() + 1;
            ins.push_back(switches.ins(wake.stamp.time_ns, next));
            floors.push_back(floors_of(wake, ins.back()));
            Period period;
            period.pid = thread.pid;
            period.thread = number;
            period.wake = wake;
            period.expected_ns = expected_of(wake);
            period.still_running = switches.on_cpu(wake.stamp.time_ns);
            periods.push_back(std::move(period));
        }
        if (samples_)
            match(number, periods, floors);
        else
            from_records(periods, ins);
        for (size_t i = 0; i < periods.size(); ++i) place(periods[i], ins[i]);
        out_.periods.insert(out_.periods.end(), periods.begin(), periods.end());
    }

    static WakeFloors floors_of(const model::Wake& wake, const std::vector<SwitchPoint>& ins) {
        WakeFloors floors;
        for (const SwitchPoint& in : ins)
            floors.ns.push_back(static_cast<int64_t>(in.time_ns) - expected_of(wake));
        // Woken before it had left the CPU: nothing lies between the wakeup and the read.
        if (ins.empty())
            floors.ns.push_back(static_cast<int64_t>(wake.stamp.time_ns) - expected_of(wake));
        return floors;
    }

    void from_records(std::vector<Period>& periods,
                      const std::vector<std::vector<SwitchPoint>>& ins) {
        for (size_t i = 0; i < periods.size(); ++i) {
            if (ins[i].empty()) continue;
            periods[i].latency_ns =
                static_cast<int64_t>(ins[i].front().time_ns) - periods[i].expected_ns;
            periods[i].fate = Fate::kUsed;
        }
    }

    void match(uint32_t number, std::vector<Period>& periods,
               const std::vector<WakeFloors>& floors) {
        std::vector<CyclicSample> own;
        for (const CyclicSample& sample : *samples_)
            if (sample.thread == number) own.push_back(sample);
        if (!own.empty() && own.front().expected_ns) {
            match_by_time(number, periods, floors, own);
            return;
        }
        const Alignment alignment = align(own, floors, longest_gap(periods));
        out_.realigned += alignment.realigned;
        note_alignment(alignment, number, own.size());
        for (size_t i = 0; i < own.size(); ++i) {
            if (alignment.fit[i] == Fit::kNoWake) {
                ++out_.fates[static_cast<size_t>(Fate::kNoRecords)];
                continue;
            }
            take(periods[alignment.wake[i]], own[i], alignment.fit[i]);
        }
    }

    // The sample names the moment that its timer was set to.
    void match_by_time(uint32_t number, std::vector<Period>& periods,
                       const std::vector<WakeFloors>& floors,
                       const std::vector<CyclicSample>& own) {
        std::unordered_map<int64_t, size_t> by_moment;
        for (size_t i = 0; i < periods.size(); ++i) by_moment.emplace(periods[i].expected_ns, i);
        size_t matched = 0;
        for (const CyclicSample& sample : own) {
            const auto found = by_moment.find(sample.expected_ns);
            if (found == by_moment.end()) {
                ++out_.fates[static_cast<size_t>(Fate::kNoRecords)];
                continue;
            }
            ++matched;
            // It can't have run before it was switched in; the clock is read right behind that.
            const bool possible = sample.latency_ns >= floors[found->second].ns.front();
            take(periods[found->second], sample, possible ? Fit::kJoined : Fit::kContrary);
        }
        if (matched == 0)
            out_.notes.push_back(fmt::format(
                "the samples of thread {} fit no wakeups of the log: are they of the same run?",
                number));
    }

    // In periods: what lies between two recorded wakeups was skipped or lost.
    uint64_t longest_gap(const std::vector<Period>& periods) const {
        int64_t longest = 0;
        for (size_t i = 1; i < periods.size(); ++i)
            longest = std::max(longest, periods[i].expected_ns - periods[i - 1].expected_ns);
        return out_.interval_ns ? static_cast<uint64_t>(longest) / out_.interval_ns : 0;
    }

    void take(Period& period, const CyclicSample& sample, Fit fit) {
        if (period.sample) {  // two samples claim one wakeup, at a realignment
            period.fate = Fate::kUnsure;
            ++out_.fates[static_cast<size_t>(Fate::kNoRecords)];
            return;
        }
        period.sample = sample;
        period.latency_ns = sample.latency_ns;
        period.fate = fit == Fit::kJoined     ? Fate::kUsed
                      : fit == Fit::kContrary ? Fate::kContrary
                                              : Fate::kUnsure;
    }

    void note_alignment(const Alignment& alignment, uint32_t number, size_t samples) {
        if (samples == 0)
            out_.notes.push_back(fmt::format("thread {} printed no sample", number));
        else if (!alignment.found)
            out_.notes.push_back(fmt::format(
                "the samples of thread {} fit no wakeups of the log: are they of the same run?",
                number));
        else if (alignment.ambiguous)
            out_.notes.push_back(fmt::format(
                "thread {}: latencies hardly differ, so that the join could be off by some periods",
                number));
    }

    void place(Period& period, const std::vector<SwitchPoint>& ins) {
        const bool read = period.sample || period.fate == Fate::kUsed;
        for (const SwitchPoint& in : ins) {
            // A read in the same microsecond is after: its latency is cut to whole ones.
            if (period.switch_in_ns && (!read || in.time_ns > period.read_ns() + 1000)) break;
            period.interrupted = period.switch_in_ns.has_value();
            if (!period.first_in_ns) period.first_in_ns = in.time_ns;
            period.switch_in_ns = in.time_ns;
            period.cpu = in.cpu;
        }
        for (size_t b = 0; b < out_.blocks.size(); ++b) {
            const Block& block = out_.blocks[b].block;
            auto at = static_cast<uint64_t>(period.expected_ns);
            if (at >= block.begin_ns && at < block.end_ns) period.block = b;
        }
    }

    void expect_samples(const Thread& thread, uint64_t interval) {
        if (interval == 0) return;
        const auto anchor = static_cast<uint64_t>(expected_of(thread.wakes.front()));
        const auto last = static_cast<uint64_t>(expected_of(thread.wakes.back()));
        auto points_before = [&](uint64_t time) {
            return time <= anchor ? 0 : (time - anchor + interval - 1) / interval;
        };
        for (BlockResult& result : out_.blocks) {
            // A thread that came later or ended earlier is expected for its own time only.
            uint64_t begin = std::max(result.block.begin_ns, anchor);
            uint64_t end = std::min(result.block.end_ns, last + 1);
            if (end > begin) result.expected += points_before(end) - points_before(begin);
        }
    }

    void settle(Period& period) {
        if (period.fate == Fate::kUsed || period.fate == Fate::kContrary) {
            if (!period.block)
                period.fate = Fate::kGuard;
            else if (period.wake.stamp.arm != out_.blocks[*period.block].block.arm)
                period.fate = Fate::kArmDiffers;
            else if (evidence_.lost_within(period.wake.timer->fired_ns, period.read_ns()))
                period.fate = Fate::kLost;
        }
        if (period.fate == Fate::kNoSample) {
            if (!period.block) return;  // nothing was expected of it
            ++out_.blocks[*period.block].unprinted;
        }
        ++out_.fates[static_cast<size_t>(period.fate)];
        if (fate_in_table(period.fate))
            out_.blocks[*period.block].latencies.push_back(period.latency_ns);
    }

    void count_unmatched_threads(size_t threads) {
        if (!samples_) return;
        for (const CyclicSample& sample : *samples_)
            if (sample.thread >= threads) ++out_.fates[static_cast<size_t>(Fate::kNoRecords)];
    }

    const Evidence& evidence_;
    const std::vector<CyclicSample>* samples_;
    Join out_;
};

}  // namespace

const char* fate_text(Fate fate) {
    switch (fate) {
        case Fate::kUsed:
            return "joined with their records";
        case Fate::kGuard:
            return "outside of blocks (settling, guard intervals), not used";
        case Fate::kArmDiffers:
            return "woken under another arm than their block's, not used";
        case Fate::kLost:
            return "with records lost meanwhile, in the table but not explained";
        case Fate::kContrary:
            return "contradicting their records, in the table but not explained";
        case Fate::kUnsure:
            return "next to a realignment, not used";
        case Fate::kNoRecords:
            return "without records of their wakeup, not used";
        case Fate::kNoSample:
            return "wakeups whose sample wasn't printed";
        case Fate::kCount:
            break;
    }
    return "";
}

bool fate_in_table(Fate fate) {
    return fate == Fate::kUsed || fate == Fate::kLost || fate == Fate::kContrary;
}

size_t measured_thread_count(const Evidence& evidence) { return measured_threads(evidence).size(); }

Join join(const Evidence& evidence, const std::vector<CyclicSample>* samples,
          const std::vector<Block>& blocks) {
    return Joiner(evidence, samples, blocks).run();
}

Join join(const Evidence& evidence, const std::vector<CyclicSample>* samples) {
    return join(evidence, samples, find_blocks(evidence));
}

}  // namespace fairswitch
