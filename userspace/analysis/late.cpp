#include "userspace/analysis/late.h"

#include <ctime>
#include <iterator>

namespace fairswitch {
namespace {

// Far more than one thread's wakeups and switches between two readings of the rings.
constexpr size_t kMostEvents = 4096;
constexpr size_t kMostLate = 65536;

uint64_t expected(const model::Wake& wake) {
    const bool told = wake.timer && wake.timer->clock == CLOCK_MONOTONIC;
    return told ? wake.timer->soft_expiry_ns : wake.stamp.time_ns;
}

}  // namespace

void LateWakeups::add(const model::Record& record) {
    if (const auto* wake = std::get_if<model::Wake>(&record)) {
        threads_.try_emplace(wake->pid);
        add_event(wake->pid, wake->stamp.time_ns, {true, expected(*wake)});
    } else if (const auto* in = std::get_if<model::Switch>(&record)) {
        add_event(in->next_pid, in->stamp.time_ns, {});
    }
}

void LateWakeups::add_event(uint32_t pid, uint64_t time_ns, Event event) {
    const auto found = threads_.find(pid);
    if (found == threads_.end()) return;
    found->second.events.emplace(time_ns, event);
    if (found->second.events.size() > kMostEvents) take_oldest(pid, found->second);
}

void LateWakeups::take_oldest(uint32_t pid, Thread& thread) {
    const auto oldest = thread.events.begin();
    const auto [time_ns, event] = *oldest;
    thread.events.erase(oldest);
    if (event.is_wake) {
        thread.expected_ns = event.expected_ns;
    } else if (thread.expected_ns) {
        measure(pid, *thread.expected_ns, time_ns);
        thread.expected_ns.reset();
    }
}

void LateWakeups::measure(uint32_t pid, uint64_t expected_ns, uint64_t in_ns) {
    ++wakeups_;
    const auto latency = static_cast<int64_t>(in_ns - expected_ns);
    if (latency <= threshold_ns_) return;
    ++late_;
    list_.emplace(in_ns, LateWakeup{pid, expected_ns, latency});
    if (list_.size() > kMostLate) list_.erase(std::prev(list_.end()));
}

void LateWakeups::finish() {
    for (auto& [pid, thread] : threads_)
        while (!thread.events.empty()) take_oldest(pid, thread);
}

}  // namespace fairswitch
