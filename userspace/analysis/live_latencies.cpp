#include "userspace/analysis/live_latencies.h"

#include <algorithm>

namespace fairswitch {

void LiveLatencies::add(Bytes records) {
    const std::lock_guard lock(mutex_);
    while (!records.empty()) {
        const Framing frame = framing(records);
        if (frame.prefix <= 0) return;
        const size_t whole = static_cast<size_t>(frame.prefix) + frame.length;
        if (whole > records.size()) return;
        if (overlay(records.first(whole), record_)) keep(record_);
        records = records.subspan(whole);
    }
}

void LiveLatencies::keep(const model::Record& record) {
    if (const auto* wake = std::get_if<model::Wake>(&record)) {
        if (wake->source == FSW_WAKE_TIMER && wake->timer)
            wakeups_[wake->pid].push_back({wake->stamp.time_ns, wake->timer->soft_expiry_ns});
    } else if (const auto* change = std::get_if<model::Switch>(&record)) {
        switches_[change->next_pid].push_back(change->stamp.time_ns);
    }
}

std::vector<int64_t> LiveLatencies::between(uint64_t begin_ns, uint64_t end_ns, uint32_t tgid) {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t> latencies;
    for (auto& [pid, wakeups] : wakeups_) {
        if (pid == tgid) continue;
        std::sort(wakeups.begin(), wakeups.end(),
                  [](const Wakeup& a, const Wakeup& b) { return a.woken_ns < b.woken_ns; });
        std::vector<uint64_t>& ins = switches_[pid];
        std::sort(ins.begin(), ins.end());
        for (size_t i = 0; i < wakeups.size(); ++i) {
            const Wakeup& wakeup = wakeups[i];
            if (wakeup.expected_ns < begin_ns || wakeup.expected_ns >= end_ns) continue;
            const auto in = std::lower_bound(ins.begin(), ins.end(), wakeup.woken_ns);
            const bool own = in != ins.end() &&
                             (i + 1 == wakeups.size() || *in < wakeups[i + 1].woken_ns);
            // Woken before it had left the CPU: it ran on at once.
            const uint64_t ran = own ? *in : wakeup.woken_ns;
            latencies.push_back(static_cast<int64_t>(ran) -
                                static_cast<int64_t>(wakeup.expected_ns));
        }
    }
    return latencies;
}

void LiveLatencies::forget_before(uint64_t moment_ns) {
    const std::lock_guard lock(mutex_);
    for (auto& [pid, wakeups] : wakeups_)
        std::erase_if(wakeups, [&](const Wakeup& wakeup) { return wakeup.woken_ns < moment_ns; });
    for (auto& [pid, ins] : switches_)
        std::erase_if(ins, [&](uint64_t time) { return time < moment_ns; });
}

}  // namespace fairswitch
