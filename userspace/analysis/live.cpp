#include "userspace/analysis/live.h"

#include <fmt/format.h>

#include <algorithm>

#include "userspace/analysis/evidence.h"
#include "userspace/log/losses.h"

namespace fairswitch {
namespace {

constexpr uint64_t kSecond_ns = 1'000'000'000;
// Rings are drained one after another: what is later by this much may stand earlier in the log.
constexpr uint64_t kDisorder_ns = 500'000'000;
// Names of tasks are told once only, so they are kept; as many as a machine has at a time.
constexpr size_t kMostTasks = 1 << 16;

template <typename T>
void drop_before(std::deque<T>& records, uint64_t time_ns) {
    while (!records.empty() && records.front().stamp.time_ns < time_ns) records.pop_front();
}

void add_counts(LiveArm& sum, const LiveArm& counts) {
    sum.decisions += counts.decisions;
    sum.preempts += counts.preempts;
    for (size_t path = 0; path < kPathSlots; ++path) {
        sum.keep_paths[path] += counts.keep_paths[path];
        sum.preempt_paths[path] += counts.preempt_paths[path];
    }
}

}  // namespace

LiveView::LiveView(const Header& header, unsigned window_s)
    : window_ns_(window_s * kSecond_ns), begin_ns_(header.start_monotonic_ns()) {
    for (const Arm& arm : header.arms()) arm_names_[arm.id()] = arm.name();
}

std::string LiveView::arm_name(uint32_t arm) const {
    const auto found = arm_names_.find(arm);
    if (found != arm_names_.end()) return found->second;
    return arm == 0 ? "stock" : fmt::format("arm {}", arm);
}

uint64_t LiveView::window_begin() const { return now_ns_ - std::min(now_ns_, window_ns_); }

void LiveView::add(const model::Record& record) {
    ++records_;
    const model::Stamp* stamp = model::stamp_of(record);
    if (stamp == nullptr) return;
    if (begin_ns_ == 0) begin_ns_ = stamp->time_ns;
    if (stamp->time_ns > now_ns_) {
        const bool second_over = stamp->time_ns / kSecond_ns != now_ns_ / kSecond_ns;
        now_ns_ = stamp->time_ns;
        arm_ = stamp->arm;
        if (second_over) prune();
    }
    keep(record);
}

void LiveView::keep(const model::Record& record) {
    if (const auto* brief = std::get_if<model::Brief>(&record)) {
        keep(model::as_decision(*brief));
    } else if (const auto* decision = std::get_if<model::Decision>(&record)) {
        count(*decision);
        if (watched_.contains(decision->wakee_pid)) decisions_.push_back(*decision);
    } else if (const auto* wake = std::get_if<model::Wake>(&record)) {
        watched_.insert(wake->pid);
        wakes_.push_back(*wake);
    } else if (const auto* change = std::get_if<model::Switch>(&record)) {
        switches_.push_back(*change);
    } else if (const auto* requeue = std::get_if<model::Requeue>(&record)) {
        if (requeue->entity && watched_.contains(requeue->entity->pid))
            requeues_.push_back(*requeue);
    } else if (const auto* lost = std::get_if<model::Lost>(&record)) {
        lost_ += records_of(*lost);
        losses_.push_back(*lost);
    } else if (const auto* task = std::get_if<model::Task>(&record)) {
        if (tasks_.size() >= kMostTasks) tasks_.clear();
        tasks_[task->pid] = *task;
    }
}

void LiveView::count(const model::Decision& decision) {
    const uint64_t second = decision.stamp.time_ns / kSecond_ns;
    if (buckets_.empty() || buckets_.back().second < second) buckets_.push_back({second, {}});
    // Nearly always the last one.
    auto bucket = buckets_.rbegin();
    while (bucket != buckets_.rend() && bucket->second > second) ++bucket;
    if (bucket == buckets_.rend() || bucket->second != second) return;
    LiveArm& counts = bucket->arms[decision.stamp.arm];
    const bool preempt = decision.verdict == FSW_VERDICT_PREEMPT;
    ++counts.decisions;
    counts.preempts += preempt;
    ++(preempt ? counts.preempt_paths : counts.keep_paths)[decision.path % kPathSlots];
}

void LiveView::prune() {
    const uint64_t begin = window_begin() - std::min(window_begin(), kDisorder_ns);
    while (!buckets_.empty() && buckets_.front().second + 1 < window_begin() / kSecond_ns)
        buckets_.pop_front();
    drop_before(wakes_, begin);
    drop_before(switches_, begin);
    drop_before(decisions_, begin);
    drop_before(requeues_, begin);
    drop_before(losses_, begin);
}

// Whole seconds, the one that has begun left out unless there is no other.
void LiveView::add_arms(LiveSnapshot& snapshot) const {
    const uint64_t last = now_ns_ / kSecond_ns;
    const uint64_t first = last - std::min(last, window_ns_ / kSecond_ns);
    const bool only_one = begin_ns_ / kSecond_ns >= last;
    std::map<uint32_t, LiveArm> sums;
    for (const Bucket& bucket : buckets_) {
        if (bucket.second < first || (bucket.second == last && !only_one)) continue;
        for (const auto& [arm, counts] : bucket.arms) add_counts(sums[arm], counts);
    }
    const uint64_t from = only_one ? begin_ns_ : std::max(first * kSecond_ns, begin_ns_);
    const uint64_t to = only_one ? now_ns_ : last * kSecond_ns;
    snapshot.seconds = static_cast<double>(to - std::min(from, to)) / 1e9;
    for (auto& [arm, sum] : sums) {
        sum.arm = arm;
        sum.name = arm_name(arm);
        snapshot.arms.push_back(sum);
    }
}

// Each wakeup with the switch-in that followed it. A thread that was on the CPU all the time has
// none, and no latency.
std::vector<Period> LiveView::periods(const Evidence& evidence) const {
    std::vector<Period> periods;
    for (const auto& [pid, wakes] : evidence.wakes()) {
        const std::vector<SwitchPoint> points = evidence.switch_points(pid);
        auto point = points.begin();
        for (size_t i = 0; i < wakes.size(); ++i) {
            const uint64_t woken = wakes[i].stamp.time_ns;
            const uint64_t next = i + 1 < wakes.size() ? wakes[i + 1].stamp.time_ns : now_ns_ + 1;
            while (point != points.end() && point->time_ns < woken) ++point;
            const bool on_cpu = point != points.begin() && std::prev(point)->in;
            auto in = std::find_if(point, points.end(), [](const auto& p) { return p.in; });
            if (in == points.end() || in->time_ns >= next || woken < window_begin()) continue;
            Period& period = periods.emplace_back();
            period.pid = pid;
            period.wake = wakes[i];
            period.expected_ns = static_cast<int64_t>(
                wakes[i].timer ? wakes[i].timer->soft_expiry_ns : wakes[i].stamp.time_ns);
            period.switch_in_ns = period.first_in_ns = in->time_ns;
            period.cpu = in->cpu;
            period.still_running = on_cpu;
            period.latency_ns = static_cast<int64_t>(in->time_ns) - period.expected_ns;
            const bool lost = evidence.lost_within(woken, in->time_ns);
            period.fate = lost ? Fate::kLost : Fate::kUsed;
        }
    }
    return periods;
}

void LiveView::add_latencies(LiveSnapshot& snapshot, size_t worst) const {
    Evidence evidence;
    for (const auto& wake : wakes_) evidence.add(wake);
    for (const auto& change : switches_) evidence.add(change);
    for (const auto& lost : losses_) evidence.add(lost);
    for (const auto& [pid, task] : tasks_) evidence.add(task);
    evidence.finish();
    std::vector<Period> all = periods(evidence);
    snapshot.wakeups = all.size();
    worst = std::min(worst, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(worst), all.end(),
                      [](const Period& a, const Period& b) { return a.latency_ns > b.latency_ns; });
    all.resize(worst);
    std::vector<uint32_t> pids;
    for (const Period& period : all) pids.push_back(period.pid);
    DecisionStore decisions(pids, {});
    for (const auto& decision : decisions_) decisions.add(decision);
    for (const auto& requeue : requeues_) decisions.add(requeue);
    decisions.finish();
    for (const Period& period : all) {
        snapshot.worst.push_back({period.latency_ns, static_cast<uint64_t>(period.expected_ns),
                                  evidence.who(period.pid, period.wake.stamp.time_ns), period.cpu,
                                  arm_name(period.wake.stamp.arm),
                                  cause_of(period, evidence, decisions),
                                  parts_of(period, evidence).longest()});
    }
}

LiveSnapshot LiveView::snapshot(size_t worst) const {
    LiveSnapshot snapshot;
    snapshot.now_ns = now_ns_;
    snapshot.begin_ns = begin_ns_;
    snapshot.arm = arm_;
    snapshot.lost = lost_;
    snapshot.records = records_;
    add_arms(snapshot);
    add_latencies(snapshot, worst);
    return snapshot;
}

}  // namespace fairswitch
