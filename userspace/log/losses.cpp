#include "userspace/log/losses.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairswitch {
namespace {

struct CountedKind {
    unsigned number;
    std::uint32_t model::Lost::*count;
    const char* plural;
};

constexpr CountedKind kCounted[] = {
    {FSW_KIND_DECISION, &model::Lost::decisions, "decisions"},
    {FSW_KIND_REQUEUE, &model::Lost::requeues, "requeues"},
    {FSW_KIND_DELAY, &model::Lost::delays, "delays"},
    {FSW_KIND_WAKE, &model::Lost::wakes, "wakes"},
    {FSW_KIND_SWITCH, &model::Lost::switches, "switches"},
    {FSW_KIND_TASK, &model::Lost::tasks, "tasks"},
    {FSW_KIND_SWAP, &model::Lost::swaps, "swaps"},
    {FSW_KIND_MARKER, &model::Lost::markers, "markers"},
};

double seconds(std::uint64_t time_ns, std::uint64_t begin_ns) {
    return static_cast<double>(static_cast<std::int64_t>(time_ns - begin_ns)) / 1e9;
}

// As Lost records count: Briefs are decisions.
std::array<std::uint64_t, FSW_KIND_COUNT> dropped_of(const RingBooks& books) {
    std::array<std::uint64_t, FSW_KIND_COUNT> dropped{};
    const int kinds = std::min<int>(books.dropped_size(), FSW_KIND_COUNT);
    for (int kind = 0; kind < kinds; ++kind) {
        const int counted = kind == FSW_KIND_BRIEF ? int{FSW_KIND_DECISION} : kind;
        dropped[static_cast<std::size_t>(counted)] += books.dropped(kind);
    }
    return dropped;
}

}  // namespace

std::uint64_t records_of(const model::Lost& lost) {
    std::uint64_t sum = 0;
    for (const CountedKind& kind : kCounted) sum += lost.*kind.count;
    return sum;
}

void Losses::add(const model::Lost& lost) {
    if (records_of(lost) == 0) return;
    OfCpu& cpu = cpus_[lost.stamp.cpu];
    for (const CountedKind& kind : kCounted) cpu.by_kind[kind.number] += lost.*kind.count;
    if (cpu.stretches++ == 0) cpu.first_ns = lost.first_ns;
    cpu.first_ns = std::min(cpu.first_ns, lost.first_ns);
    cpu.last_ns = std::max(cpu.last_ns, lost.last_ns);
}

void Losses::add(const Losses& other) {
    for (const auto& [number, theirs] : other.cpus_) {
        OfCpu& cpu = cpus_[number];
        for (std::size_t kind = 0; kind < cpu.by_kind.size(); ++kind)
            cpu.by_kind[kind] += theirs.by_kind[kind];
        if (theirs.stretches > 0) {
            cpu.first_ns = cpu.stretches ? std::min(cpu.first_ns, theirs.first_ns) : theirs.first_ns;
            cpu.last_ns = std::max(cpu.last_ns, theirs.last_ns);
        }
        cpu.stretches += theirs.stretches;
        cpu.at_end |= theirs.at_end;
    }
}

void Losses::settle(const End& end) {
    for (const RingBooks& books : end.rings()) {
        const std::array<std::uint64_t, FSW_KIND_COUNT> dropped = dropped_of(books);
        for (std::size_t kind = 0; kind < dropped.size(); ++kind) {
            if (dropped[kind] == 0) continue;
            OfCpu& cpu = cpus_[books.cpu()];
            std::uint64_t& told = cpu.by_kind[kind];
            if (dropped[kind] <= told) continue;
            told = dropped[kind];
            cpu.at_end = true;
        }
    }
}

std::uint64_t Losses::total() const {
    std::uint64_t sum = 0;
    for (const auto& [number, cpu] : cpus_) {
        for (const std::uint64_t count : cpu.by_kind) sum += count;
    }
    return sum;
}

std::vector<std::string> Losses::lines(std::uint64_t begin_ns) const {
    std::vector<std::string> lines;
    for (const auto& [number, cpu] : cpus_) {
        std::string kinds;
        for (unsigned kind = 0; kind < FSW_KIND_COUNT; ++kind) {
            if (cpu.by_kind[kind] == 0) continue;
            const auto* counted = std::find_if(std::begin(kCounted), std::end(kCounted),
                                               [&](const auto& c) { return c.number == kind; });
            const std::string plural = counted == std::end(kCounted)
                                           ? fmt::format("records of kind {}", kind)
                                           : counted->plural;
            kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", cpu.by_kind[kind], plural);
        }
        std::string when;
        if (cpu.stretches > 0) {
            when = fmt::format(" in {} stretch{}, from {:.3f} s to {:.3f} s", cpu.stretches,
                               cpu.stretches == 1 ? "" : "es", seconds(cpu.first_ns, begin_ns),
                               seconds(cpu.last_ns, begin_ns));
        }
        if (cpu.at_end) when += cpu.stretches > 0 ? ", and at the end" : " at the end";
        lines.push_back(fmt::format("CPU {}: {} lost{}; the ring was full", number, kinds, when));
    }
    return lines;
}

}  // namespace fairswitch
