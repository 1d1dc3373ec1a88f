#include "userspace/analysis/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "userspace/log/losses.h"

namespace fairswitch {
namespace {

template <typename T>
void sort_by_time(std::vector<T>& records) {
    std::stable_sort(records.begin(), records.end(),
                     [](const T& a, const T& b) { return a.stamp.time_ns < b.stamp.time_ns; });
}

}  // namespace

void Evidence::add(const model::Record& record) {
    if (const model::Stamp* stamp = model::stamp_of(record)) {
        if (first_ns_ == 0 || stamp->time_ns < first_ns_) first_ns_ = stamp->time_ns;
        last_ns_ = std::max(last_ns_, stamp->time_ns);
    }
    std::visit(
        [this](const auto& kind) {
            using T = std::decay_t<decltype(kind)>;
            if constexpr (std::is_same_v<T, model::Wake>) wakes_[kind.pid].push_back(kind);
            if constexpr (std::is_same_v<T, model::Switch>)
                switches_[kind.stamp.rq_cpu].push_back(kind);
            if constexpr (std::is_same_v<T, model::Task>) tasks_[kind.pid].push_back(kind);
            if constexpr (std::is_same_v<T, model::Swap>) swaps_.push_back(kind);
            if constexpr (std::is_same_v<T, model::Marker>) markers_.push_back(kind);
            if constexpr (std::is_same_v<T, model::Lost>) lost_.push_back(kind);
            if constexpr (std::is_same_v<T, model::Sample>) samples_.push_back(kind);
        },
        record);
}

void Evidence::finish() {
    for (auto& [pid, wakes] : wakes_) sort_by_time(wakes);
    for (auto& [pid, tasks] : tasks_) sort_by_time(tasks);
    for (auto& [cpu, switches] : switches_) {
        size_t& finished = finished_[cpu];
        std::stable_sort(switches.begin() + static_cast<std::ptrdiff_t>(finished), switches.end(),
                         [](const model::Switch& a, const model::Switch& b) {
                             if (a.stamp.seq && b.stamp.seq) return a.stamp.seq < b.stamp.seq;
                             return a.stamp.time_ns < b.stamp.time_ns;
                         });
        finished = switches.size();
    }
    sort_by_time(swaps_);
    sort_by_time(markers_);
    sort_by_time(lost_);
}

const std::vector<model::Switch>& Evidence::switches(uint32_t cpu) const {
    static const std::vector<model::Switch> kNone;
    auto found = switches_.find(cpu);
    return found == switches_.end() ? kNone : found->second;
}

std::vector<SwitchPoint> Evidence::switch_points(uint32_t pid) const {
    std::vector<SwitchPoint> points;
    for (const auto& [cpu, switches] : switches_) {
        for (const model::Switch& s : switches) {
            if (s.next_pid == pid) points.push_back({s.stamp.time_ns, cpu, true});
            if (s.prev_pid == pid) points.push_back({s.stamp.time_ns, cpu, false});
        }
    }
    std::stable_sort(points.begin(), points.end(), [](const SwitchPoint& a, const SwitchPoint& b) {
        return a.time_ns < b.time_ns;
    });
    return points;
}

uint64_t Evidence::records_lost() const {
    uint64_t sum = 0;
    for (const model::Lost& lost : lost_) sum += records_of(lost);
    return sum;
}

bool Evidence::lost_within(uint64_t from_ns, uint64_t to_ns) const {
    return std::any_of(lost_.begin(), lost_.end(), [&](const model::Lost& lost) {
        return records_of(lost) > 0 && lost.first_ns <= to_ns && lost.last_ns >= from_ns;
    });
}

const model::Task* Evidence::task_at(uint32_t pid, uint64_t time_ns) const {
    auto found = tasks_.find(pid);
    if (found == tasks_.end() || found->second.empty()) return nullptr;
    const std::vector<model::Task>& known = found->second;
    auto after = std::upper_bound(
        known.begin(), known.end(), time_ns,
        [](uint64_t time, const model::Task& task) { return time < task.stamp.time_ns; });
    // A thread is first told of when it is first seen, which may be a moment after its wakeup.
    return after == known.begin() ? &known.front() : &*std::prev(after);
}

std::string Evidence::who(uint32_t pid, uint64_t time_ns) const {
    if (pid == 0) return "idle";
    const model::Task* task = task_at(pid, time_ns);
    if (!task) return fmt::format("pid {}", pid);
    return fmt::format("{}/{}", printable(model::text(task->comm)), pid);
}

}  // namespace fairswitch
