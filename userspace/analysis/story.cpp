#include "userspace/analysis/story.h"

#include <algorithm>

namespace fairswitch {
namespace {

constexpr uint64_t kMargin_ns = 1000;  // the clock may step back a little across an update

void sort_decisions(std::vector<model::Decision>& decisions) {
    std::stable_sort(decisions.begin(), decisions.end(),
                     [](const model::Decision& a, const model::Decision& b) {
                         bool same = a.stamp.rq_cpu == b.stamp.rq_cpu;
                         if (same && a.stamp.seq && b.stamp.seq) return a.stamp.seq < b.stamp.seq;
                         return a.stamp.time_ns < b.stamp.time_ns;
                     });
}

uint64_t waited_until(const Period& period) {
    return period.switch_in_ns.value_or(period.read_ns());
}

Cause cause_of_decision(const model::Decision& decision) {
    if (decision.verdict == FSW_VERDICT_PREEMPT) return Cause::kPreemptWaited;
    switch (decision.path) {
        case FSW_PATH_THROTTLED:
            return Cause::kKeptThrottled;
        case FSW_PATH_RESCHED_PENDING:
            return Cause::kKeptPending;
        case FSW_PATH_PREEMPTION_OFF:
            return Cause::kKeptFeature;
        case FSW_PATH_IDLE_KEEP:
        case FSW_PATH_POLICY_KEEP:
            return Cause::kKeptPolicy;
        case FSW_PATH_DELAYED_KEEP:
        case FSW_PATH_FORK_KEEP:
        case FSW_PATH_SYNC_KEEP:
            return Cause::kKeptSync;
        case FSW_PATH_OTHER_CLASS:
            return Cause::kKeptClass;
        default:
            break;
    }
    if (model::is_brief(decision)) return Cause::kKeptBrief;
    bool delayed = decision.queue && (decision.queue->branches & FSW_BRANCH_DELAYED_PICKED);
    return delayed ? Cause::kKeptDelayed : Cause::kKeptOther;
}

// The first switch on the CPU after the wakeup.
const model::Switch* first_switch(const Period& period, const Evidence& evidence) {
    const auto& switches = evidence.switches(period.cpu);
    const auto found =
        std::partition_point(switches.begin(), switches.end(), [&](const model::Switch& s) {
            return s.stamp.time_ns + kMargin_ns < period.wake.stamp.time_ns;
        });
    return found == switches.end() ? nullptr : &*found;
}

// When a thread that was woken on the CPU left it at last. There is nothing to do in between.
std::optional<uint64_t> left_cpu(const Period& period, const Evidence& evidence) {
    const uint64_t woken = period.wake.stamp.time_ns;
    std::optional<uint64_t> left;
    for (const auto& [cpu, switches] : evidence.switches()) {
        auto at = std::lower_bound(
            switches.begin(), switches.end(), woken,
            [](const model::Switch& s, uint64_t time) { return s.stamp.time_ns < time; });
        for (; at != switches.end() && at->stamp.time_ns <= waited_until(period); ++at) {
            if (at->prev_pid != period.pid) continue;
            if (!left || at->stamp.time_ns < *left) left = at->stamp.time_ns;
            break;
        }
    }
    return left;
}

Cause cause_of_wait(const Period& period, const Evidence& evidence,
                    const DecisionStore& decisions) {
    auto about = decisions.about(period);
    if (!about.empty()) return cause_of_decision(*about.front());
    if (period.still_running) return Cause::kStillRunning;
    const model::Switch* first = first_switch(period, evidence);
    if (!first || first->prev_pid != 0) return Cause::kNoDecision;
    return first->next_pid == period.pid ? Cause::kIdleTarget : Cause::kIdleOthers;
}

}  // namespace

const char* cause_text(Cause cause) {
    switch (cause) {
        case Cause::kTimer:
            return "the timer fired late";
        case Cause::kWake:
            return "the timer fired, the wakeup came late";
        case Cause::kKeptDelayed:
            return "kept waiting: the pick was a delayed (sleeping) entity";
        case Cause::kKeptOther:
            return "kept waiting: the pick was another runnable entity";
        case Cause::kKeptBrief:
            return "kept waiting: the pick was another (brief: asleep or not isn't told)";
        case Cause::kKeptPolicy:
            return "kept waiting: idle or batch policy";
        case Cause::kKeptPending:
            return "no check: a reschedule was pending, another was chosen";
        case Cause::kKeptThrottled:
            return "kept waiting: its group is throttled";
        case Cause::kKeptSync:
            return "kept waiting: a sync wakeup, a new task or a delayed wakee";
        case Cause::kKeptClass:
            return "kept waiting: a task of another scheduling class";
        case Cause::kKeptFeature:
            return "kept waiting: wakeup preemption is switched off";
        case Cause::kPreemptWaited:
            return "preemption decided, yet it waited";
        case Cause::kStillRunning:
            return "woken before it had left the CPU: no check, others ran";
        case Cause::kCpuStalled:
            return "its CPU stood still (virtual CPU without time, SMI, host load)";
        case Cause::kIdleTarget:
            return "its CPU was idle and slow to switch to it";
        case Cause::kIdleOthers:
            return "its CPU was idle: no check, and the next picks chose others";
        case Cause::kReadLate:
            return "preempted before it read the clock";
        case Cause::kAfter:
            return "on the CPU, but read the clock late";
        case Cause::kNoDecision:
            return "unexplained: waited, no decision in the log";
        case Cause::kNoSwitch:
            return "unexplained: no switch-in in the log";
        case Cause::kRecordsLost:
            return "unexplained: records were lost meanwhile";
        case Cause::kContrary:
            return "unexplained: the sample contradicts its records";
        case Cause::kCount:
            break;
    }
    return "";
}

bool cause_explains(Cause cause) { return cause < Cause::kNoDecision; }

DecisionStore::DecisionStore(std::vector<uint32_t> wakees, std::vector<Window> windows)
    : wakees_(std::move(wakees)), windows_(std::move(windows)) {
    std::sort(wakees_.begin(), wakees_.end());
    merge_windows();
}

// So that each decision is looked up in one window, however many there are.
void DecisionStore::merge_windows() {
    std::sort(windows_.begin(), windows_.end(),
              [](const Window& a, const Window& b) { return a.from_ns < b.from_ns; });
    std::vector<Window> merged;
    for (const Window& window : windows_) {
        if (merged.empty() || merged.back().to_ns < window.from_ns)
            merged.push_back(window);
        else
            merged.back().to_ns = std::max(merged.back().to_ns, window.to_ns);
    }
    windows_ = std::move(merged);
}

bool DecisionStore::in_window(uint64_t time_ns) const {
    const auto after =
        std::partition_point(windows_.begin(), windows_.end(),
                             [&](const Window& window) { return window.from_ns <= time_ns; });
    return after != windows_.begin() && time_ns <= std::prev(after)->to_ns;
}

void DecisionStore::add(const model::Record& record) {
    auto measured = [&](uint32_t pid) {
        return std::binary_search(wakees_.begin(), wakees_.end(), pid);
    };
    if (const auto* brief = std::get_if<model::Brief>(&record)) {
        add(model::as_decision(*brief));
    } else if (const auto* decision = std::get_if<model::Decision>(&record)) {
        if (measured(decision->wakee_pid)) by_wakee_[decision->wakee_pid].push_back(*decision);
        if (in_window(decision->stamp.time_ns)) by_rq_[decision->stamp.rq_cpu].push_back(*decision);
    } else if (const auto* requeue = std::get_if<model::Requeue>(&record)) {
        if (requeue->entity && requeue->entity->pid && measured(requeue->entity->pid))
            requeues_[requeue->entity->pid].push_back(*requeue);
    }
}

void DecisionStore::finish() {
    for (auto& [cpu, decisions] : by_rq_) sort_decisions(decisions);
    // One thread's decisions are on several runqueues: time is what orders them.
    for (auto& [pid, decisions] : by_wakee_)
        std::stable_sort(decisions.begin(), decisions.end(),
                         [](const model::Decision& a, const model::Decision& b) {
                             return a.stamp.time_ns < b.stamp.time_ns;
                         });
}

std::vector<const model::Decision*> DecisionStore::about(const Period& period) const {
    std::vector<const model::Decision*> out;
    auto found = by_wakee_.find(period.pid);
    if (found == by_wakee_.end()) return out;
    const uint64_t from = period.wake.stamp.time_ns - kMargin_ns, to = waited_until(period);
    auto at = std::lower_bound(found->second.begin(), found->second.end(), from,
                               [](const model::Decision& decision, uint64_t time) {
                                   return decision.stamp.time_ns < time;
                               });
    for (; at != found->second.end() && at->stamp.time_ns <= to; ++at) out.push_back(&*at);
    return out;
}

std::vector<const model::Decision*> DecisionStore::on(uint32_t rq_cpu, uint64_t from_ns,
                                                      uint64_t to_ns) const {
    std::vector<const model::Decision*> out;
    auto found = by_rq_.find(rq_cpu);
    if (found == by_rq_.end()) return out;
    for (const model::Decision& decision : found->second)
        if (decision.stamp.time_ns >= from_ns && decision.stamp.time_ns <= to_ns)
            out.push_back(&decision);
    return out;
}

std::vector<const model::Requeue*> DecisionStore::requeues(const Period& period) const {
    std::vector<const model::Requeue*> out;
    auto found = requeues_.find(period.pid);
    if (found == requeues_.end()) return out;
    for (const model::Requeue& requeue : found->second)
        if (requeue.stamp.time_ns + kMargin_ns >= period.wake.stamp.time_ns &&
            requeue.stamp.time_ns <= waited_until(period))
            out.push_back(&requeue);
    return out;
}

std::vector<RunSlice> who_ran(const Period& period, const Evidence& evidence,
                              const DecisionStore& decisions) {
    std::vector<RunSlice> slices;
    if (!period.switch_in_ns) return slices;
    const uint64_t from = period.wake.stamp.time_ns, to = *period.switch_in_ns;
    uint64_t at = from;
    uint32_t running = 0;
    auto about = decisions.about(period);
    bool known = !about.empty() && about.front()->stamp.rq_cpu == period.cpu;
    if (known) running = about.front()->curr_pid;
    for (const model::Switch& s : evidence.switches(period.cpu)) {
        if (s.stamp.time_ns <= from) continue;
        if (s.stamp.time_ns > to) break;
        // Where the switches don't continue each other, the CPU's records say it themselves.
        if (!known || running != s.prev_pid) running = s.prev_pid;
        // The flag tells preemption inside the kernel only; who leaves on the way back to user
        // space is told by its state.
        slices.push_back({running, at, s.stamp.time_ns, !s.preempted && s.prev_state != 0});
        at = s.stamp.time_ns;
        running = s.next_pid;
        known = true;
    }
    // Its own turns before it was preempted again are no waiting.
    std::erase_if(slices, [&](const RunSlice& slice) { return slice.pid == period.pid; });
    return slices;
}

int64_t LatencyParts::longest() const {
    return std::max({timer_ns, wake_ns, stalled_ns, waiting_ns, again_ns, after_ns});
}

LatencyParts parts_of(const Period& period, const Evidence& evidence) {
    const auto signed_ns = [](uint64_t ns) { return static_cast<int64_t>(ns); };
    const int64_t fired =
        signed_ns(period.wake.timer ? period.wake.timer->fired_ns : period.wake.stamp.time_ns);
    const int64_t woken = signed_ns(period.wake.stamp.time_ns);
    const int64_t first = signed_ns(period.first_in_ns.value_or(waited_until(period)));
    const int64_t in = signed_ns(waited_until(period));
    LatencyParts parts;
    parts.timer_ns = fired - period.expected_ns;
    parts.wake_ns = woken - fired;
    // Who was never switched out was on the CPU all the time.
    if (period.still_running)
        parts.stalled_ns = signed_ns(left_cpu(period, evidence).value_or(first)) - woken;
    parts.stalled_ns = std::min(parts.stalled_ns, first - woken);
    parts.waiting_ns = first - woken - parts.stalled_ns;
    parts.again_ns = in - first;
    parts.after_ns = signed_ns(period.read_ns()) - in;
    return parts;
}

Cause cause_of(const Period& period, const Evidence& evidence, const DecisionStore& decisions) {
    if (period.fate == Fate::kLost) return Cause::kRecordsLost;
    if (period.fate == Fate::kContrary) return Cause::kContrary;
    const LatencyParts parts = parts_of(period, evidence);
    const int64_t longest = parts.longest();
    if (longest == parts.waiting_ns)
        return period.switch_in_ns ? cause_of_wait(period, evidence, decisions) : Cause::kNoSwitch;
    if (longest == parts.stalled_ns) return Cause::kCpuStalled;
    if (longest == parts.again_ns) return Cause::kReadLate;
    if (longest == parts.timer_ns) return Cause::kTimer;
    return longest == parts.wake_ns ? Cause::kWake : Cause::kAfter;
}

std::map<uint32_t, std::vector<uint64_t>> causes_by_arm(const Join& join, const Evidence& evidence,
                                                        const DecisionStore& decisions,
                                                        int64_t threshold_ns) {
    std::map<uint32_t, std::vector<uint64_t>> out;
    for (const BlockResult& result : join.blocks)
        out[result.block.arm].resize(static_cast<size_t>(Cause::kCount));
    for (const Period& period : join.periods) {
        if (!fate_in_table(period.fate) || period.latency_ns <= threshold_ns) continue;
        auto cause = static_cast<size_t>(cause_of(period, evidence, decisions));
        ++out[join.blocks[*period.block].block.arm][cause];
    }
    return out;
}

std::vector<size_t> worst_periods(const Join& join, size_t n) {
    std::vector<size_t> order;
    for (size_t i = 0; i < join.periods.size(); ++i)
        if (fate_in_table(join.periods[i].fate)) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return join.periods[a].latency_ns > join.periods[b].latency_ns;
    });
    if (order.size() > n) order.resize(n);
    return order;
}

std::vector<DecisionStore::Window> windows_of(const Join& join,
                                              const std::vector<size_t>& periods) {
    std::vector<DecisionStore::Window> windows;
    for (size_t i : periods) {
        const Period& period = join.periods[i];
        windows.push_back({static_cast<uint64_t>(period.expected_ns), period.read_ns()});
    }
    return windows;
}

std::vector<uint32_t> measured_pids(const Join& join) {
    std::vector<uint32_t> pids;
    for (const Period& period : join.periods) pids.push_back(period.pid);
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    return pids;
}

}  // namespace fairswitch
