// The trace event against the records: the same decisions, told twice.
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <tuple>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

// What both tell, by which they are compared; the time is the check's own, in both.
using Told = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, bool, std::int64_t,
                        std::uint64_t, std::int64_t, std::uint64_t, std::uint32_t>;

std::string word(const std::string& line, const std::string& name) {
    const std::size_t at = line.find(" " + name + "=");
    if (at == std::string::npos) fail(Exit::kRunFailed, "no {}= in the trace line: {}", name, line);
    const std::size_t begin = at + name.size() + 2;
    return line.substr(begin, line.find(' ', begin) - begin);
}

Told told(const std::string& line) {
    const auto number = [&](const char* name) { return std::stoull(word(line, name)); };
    const auto signed_number = [&](const char* name) { return std::stoll(word(line, name)); };
    return {number("at"),
            static_cast<std::uint32_t>(number("pid")),
            static_cast<std::uint32_t>(number("curr")),
            line.find(" preempt path=") != std::string::npos,
            signed_number("lag"),
            number("slice"),
            signed_number("curr_lag"),
            number("curr_slice"),
            static_cast<std::uint32_t>(number("arm"))};
}

Told told(const model::Decision& d) {
    return {d.stamp.time_ns,     d.wakee_pid,       d.curr_pid,
            d.verdict == FSW_VERDICT_PREEMPT,       d.wakee->lag_ns,
            d.wakee->slice_ns,   d.curr->lag_ns,    d.curr->slice_ns,
            d.stamp.arm};
}

std::multiset<Told> lines_of(const std::string& path) {
    std::ifstream in(path);
    std::multiset<Told> lines;
    for (std::string line; std::getline(in, line);) {
        if (line.find("LOST") != std::string::npos) {
            fail(Exit::kRunFailed, "the trace buffer was too small: {}", line);
        }
        if (line.find(": decision: ") != std::string::npos) lines.insert(told(line));
    }
    if (lines.size() < 100) {
        fail(Exit::kRunFailed, "{} holds {} decisions; expected at least 100", path, lines.size());
    }
    return lines;
}

}  // namespace

void trace(const OrderedLog& log, const std::string& path) {
    const std::multiset<Told> lines = lines_of(path);
    const std::uint64_t first = std::get<0>(*lines.begin());
    const std::uint64_t last = std::get<0>(*lines.rbegin());
    std::multiset<Told> records;
    for (const auto& [cpu, all] : log.by_rq) {
        for (const model::Record& record : all) {
            const auto* decision = std::get_if<model::Decision>(&record);
            if (decision == nullptr) continue;
            if (decision->stamp.time_ns >= first && decision->stamp.time_ns <= last) {
                records.insert(told(*decision));
            }
        }
    }
    std::size_t same = 0;
    for (const Told& line : lines) same += records.contains(line);
    // At either end one CPU can be told of the event before another.
    constexpr std::size_t kEdge = 8;
    if (same != lines.size() || records.size() > lines.size() + kEdge) {
        fail(Exit::kRunFailed, "{} trace lines, {} records in that time, {} of them alike",
             lines.size(), records.size(), same);
    }
    fmt::print("{} trace lines, {} records in that time\n", lines.size(), records.size());
}

}  // namespace fairswitch::prove
