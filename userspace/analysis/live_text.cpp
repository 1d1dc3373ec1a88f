#include <fmt/format.h>

#include <algorithm>

#include "userspace/analysis/explain.h"
#include "userspace/analysis/live.h"
#include "userspace/log/filter_text.h"

namespace fairswitch {
namespace {

double share(uint64_t part, uint64_t all) {
    return all ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

double per_second(uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// The paths of one verdict, the most frequent first.
std::string paths_text(const std::array<uint64_t, kPathSlots>& counts, double seconds) {
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t path = 0; path < counts.size(); ++path)
        if (counts[path]) order.emplace_back(counts[path], path);
    std::sort(order.rbegin(), order.rend());
    std::string text;
    for (const auto& [count, path] : order)
        text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ",
                            path_name(static_cast<int>(path)), per_second(count, seconds));
    return text.empty() ? "none" : text;
}

double since_begin(const LiveSnapshot& snapshot, uint64_t time_ns) {
    return static_cast<double>(static_cast<int64_t>(time_ns - snapshot.begin_ns)) / 1e9;
}

void add_arm(std::vector<std::string>& lines, const LiveArm& arm, double seconds) {
    lines.push_back(fmt::format("{}: {:.0f} decisions/s, {:.1f} % preempt", arm.name,
                                per_second(arm.decisions, seconds),
                                share(arm.preempts, arm.decisions)));
    lines.push_back("  keep     " + paths_text(arm.keep_paths, seconds));
    lines.push_back("  preempt  " + paths_text(arm.preempt_paths, seconds));
}

std::string cause_with_time(const LiveLatency& late) {
    if (!cause_explains(late.cause)) return cause_text(late.cause);
    return fmt::format("{}: {}", cause_text(late.cause), duration_text(late.longest_ns));
}

}  // namespace

std::vector<std::string> live_screen(const LiveSnapshot& snapshot) {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("{:.1f} s recorded, {} records, {}; per second over {:.1f} s:",
                                since_begin(snapshot, snapshot.now_ns), snapshot.records,
                                snapshot.lost ? fmt::format("{} LOST", snapshot.lost) : "0 lost",
                                snapshot.seconds));
    lines.push_back("");
    if (snapshot.arms.empty()) lines.push_back("no decisions");
    for (const LiveArm& arm : snapshot.arms) add_arm(lines, arm, snapshot.seconds);
    lines.push_back("");
    if (snapshot.wakeups == 0) {
        lines.push_back("no wakeups of watched threads; name some with --watch");
        return lines;
    }
    lines.push_back(fmt::format("worst of {} wakeups of watched threads:", snapshot.wakeups));
    for (const LiveLatency& late : snapshot.worst)
        lines.push_back(fmt::format("  {:>8}  {:<22}  at {:.3f} s, CPU {}, {}; {}",
                                    duration_text(late.latency_ns), late.who,
                                    since_begin(snapshot, late.at_ns), late.cpu, late.arm,
                                    cause_with_time(late)));
    return lines;
}

std::string live_line(const LiveSnapshot& snapshot) {
    std::string line = fmt::format("{:7.1f} s", since_begin(snapshot, snapshot.now_ns));
    for (const LiveArm& arm : snapshot.arms)
        line += fmt::format("  {} {:.0f}/s {:.0f} % preempt", arm.name,
                            per_second(arm.decisions, snapshot.seconds),
                            share(arm.preempts, arm.decisions));
    if (snapshot.arms.empty()) line += "  no decisions";
    if (snapshot.lost) line += fmt::format("  {} LOST", snapshot.lost);
    if (!snapshot.worst.empty()) {
        const LiveLatency& worst = snapshot.worst.front();
        line += fmt::format("  worst {} {} ({})", duration_text(worst.latency_ns), worst.who,
                            cause_text(worst.cause));
    }
    return line;
}

}  // namespace fairswitch
