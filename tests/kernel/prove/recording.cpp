// The recording itself: every CPU, swaps, books.
#include <fmt/format.h>

#include <array>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

using Counts = std::array<std::uint64_t, FSW_KIND_COUNT>;

unsigned kind_of(const model::Record& record) {
    struct Visitor {
        unsigned operator()(const model::Decision&) const { return FSW_KIND_DECISION; }
        unsigned operator()(const model::Brief&) const { return FSW_KIND_BRIEF; }
        unsigned operator()(const model::Requeue&) const { return FSW_KIND_REQUEUE; }
        unsigned operator()(const model::Delay&) const { return FSW_KIND_DELAY; }
        unsigned operator()(const model::Wake&) const { return FSW_KIND_WAKE; }
        unsigned operator()(const model::Switch&) const { return FSW_KIND_SWITCH; }
        unsigned operator()(const model::Task&) const { return FSW_KIND_TASK; }
        unsigned operator()(const model::Swap&) const { return FSW_KIND_SWAP; }
        unsigned operator()(const model::Lost&) const { return FSW_KIND_LOST; }
        unsigned operator()(const model::Marker&) const { return FSW_KIND_MARKER; }
        unsigned operator()(const model::Sample&) const { return 0; }
    };
    return std::visit(Visitor{}, record);
}

void add_lost(Counts& counts, const model::Lost& lost) {
    // A Lost doesn't tell the detail; a recording has one.
    counts[FSW_KIND_DECISION] += lost.decisions;
    counts[FSW_KIND_REQUEUE] += lost.requeues;
    counts[FSW_KIND_DELAY] += lost.delays;
    counts[FSW_KIND_WAKE] += lost.wakes;
    counts[FSW_KIND_SWITCH] += lost.switches;
    counts[FSW_KIND_TASK] += lost.tasks;
    counts[FSW_KIND_SWAP] += lost.swaps;
    counts[FSW_KIND_MARKER] += lost.markers;
}

// What the file holds of each CPU's ring.
struct Found {
    Counts stored{};
    Counts lost{};
};

std::map<std::uint32_t, Found> count_file(const OrderedLog& log) {
    std::map<std::uint32_t, Found> found;
    const auto count = [&](const model::Record& record) {
        Found& cpu = found[model::stamp_of(record)->cpu];
        if (const auto* lost = std::get_if<model::Lost>(&record)) {
            add_lost(cpu.lost, *lost);
        } else {
            ++cpu.stored[kind_of(record)];
        }
    };
    for (const auto& [cpu, records] : log.by_rq) {
        for (const model::Record& record : records) count(record);
    }
    for (const model::Record& record : log.unordered) {
        if (model::stamp_of(record) != nullptr) count(record);
    }
    return found;
}

void check_ring(const RingBooks& books, const Found& found) {
    for (unsigned kind = 0; kind < FSW_KIND_COUNT; ++kind) {
        if (kind == FSW_KIND_LOST || kind == FSW_KIND_PAD) continue;
        const std::uint64_t produced = books.produced(kind);
        const std::uint64_t dropped = books.dropped(kind);
        const std::uint64_t passed = kind < unsigned(books.passed_size()) ? books.passed(kind) : 0;
        if (produced != found.stored[kind] + dropped + passed) {
            fail(Exit::kRunFailed,
                 "CPU {} kind {}: produced {}, in the file {}, dropped {}, in no window {}",
                 books.cpu(), kind, produced, found.stored[kind], dropped, passed);
        }
        // Losses at the very end have no record behind them to carry a Lost.
        const std::uint64_t at_any_detail =
            kind == FSW_KIND_DECISION ? dropped + books.dropped(FSW_KIND_BRIEF) : dropped;
        if (found.lost[kind] > at_any_detail) {
            fail(Exit::kRunFailed, "CPU {} kind {}: dropped {}, but Losts tell of {}", books.cpu(),
                 kind, dropped, found.lost[kind]);
        }
    }
}

class SwapProof {
  public:
    void run(std::uint32_t cpu, const std::vector<model::Record>& records) {
        for (const model::Record& record : records) {
            if (const auto* swap = std::get_if<model::Swap>(&record)) {
                see(cpu, *swap);
            } else {
                check(cpu, *model::stamp_of(record));
                ++in_stretch_;
            }
        }
        end_stretch();
        if (swaps_ == 0) fail(Exit::kRunFailed, "CPU {}: no swap is in its records", cpu);
        if (stretches_ < 2) {
            fail(Exit::kRunFailed, "CPU {}: no swap has records on both sides", cpu);
        }
        fmt::print("CPU {}: {} swaps, {} stretches with records, {} records checked\n", cpu, swaps_,
                   stretches_, checked_);
    }

  private:
    void see(std::uint32_t cpu, const model::Swap& swap) {
        if (swaps_ > 0 && swap.old_generation != generation_) {
            fail(Exit::kRunFailed, "CPU {}: a swap from generation {} follows generation {}", cpu,
                 swap.old_generation, generation_);
        }
        end_stretch();
        arm_ = swap.stamp.arm;
        generation_ = swap.stamp.generation;
        ++swaps_;
    }

    void end_stretch() {
        stretches_ += in_stretch_ > 0;
        in_stretch_ = 0;
    }

    void check(std::uint32_t cpu, const model::Stamp& stamp) {
        if (swaps_ == 0) return;  // what was in force before the first isn't told
        ++checked_;
        if (stamp.arm != arm_ || stamp.generation != generation_) {
            fail(Exit::kRunFailed,
                 "CPU {}: record {} is of arm {} generation {}, the last swap before it made arm {} "
                 "generation {}",
                 cpu, stamp.seq, stamp.arm, stamp.generation, arm_, generation_);
        }
    }

    std::uint32_t arm_ = 0;
    std::uint32_t generation_ = 0;
    std::uint64_t swaps_ = 0;
    std::uint64_t in_stretch_ = 0;
    std::uint64_t stretches_ = 0;  // between swaps, with records in them
    std::uint64_t checked_ = 0;
};

}  // namespace

void every_cpu(const OrderedLog& log, std::uint32_t cpus) {
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
        std::uint64_t decisions = 0;
        const auto records = log.by_rq.find(cpu);
        if (records != log.by_rq.end()) {
            for (const model::Record& record : records->second) {
                decisions += std::holds_alternative<model::Decision>(record) ||
                             std::holds_alternative<model::Brief>(record);
            }
        }
        fmt::print("CPU {}: {} decisions\n", cpu, decisions);
        if (decisions == 0) fail(Exit::kRunFailed, "CPU {}: nothing was decided about it", cpu);
    }
}

void swaps(const OrderedLog& log, std::uint32_t cpus) {
    if (log.by_rq.size() != cpus) {
        fail(Exit::kRunFailed, "expected records of {} runqueues, found {}", cpus,
             log.by_rq.size());
    }
    for (const auto& [cpu, records] : log.by_rq) SwapProof().run(cpu, records);
}

void books(const OrderedLog& log) {
    if (!log.end) fail(Exit::kRunFailed, "the log has no End record, so no books");
    const std::map<std::uint32_t, Found> found = count_file(log);
    std::uint64_t produced = 0;
    std::uint64_t dropped = 0;
    std::uint64_t passed = 0;
    for (const RingBooks& ring : log.end->rings()) {
        const auto cpu = found.find(ring.cpu());
        check_ring(ring, cpu != found.end() ? cpu->second : Found{});
        for (const std::uint64_t count : ring.produced()) produced += count;
        for (const std::uint64_t count : ring.dropped()) dropped += count;
        for (const std::uint64_t count : ring.passed()) passed += count;
    }
    if (produced == 0) fail(Exit::kRunFailed, "the books are empty");
    fmt::print("{} rings: produced {} = in the file {} + lost {} + in no window {}\n",
               log.end->rings_size(), produced, produced - dropped - passed, dropped, passed);
}

void detail(const OrderedLog& log, const std::string& wanted) {
    Counts counts{};
    for (const auto& [cpu, records] : log.by_rq) {
        for (const model::Record& record : records) ++counts[kind_of(record)];
    }
    const bool brief = wanted == "brief";
    const unsigned told = brief ? FSW_KIND_BRIEF : FSW_KIND_DECISION;
    for (const unsigned kind : {FSW_KIND_BRIEF, FSW_KIND_DECISION, FSW_KIND_REQUEUE, FSW_KIND_DELAY}) {
        fmt::print("kind {}: {}\n", kind, counts[kind]);
        const bool others = kind != told && (brief || kind == FSW_KIND_BRIEF);
        if (others && counts[kind] != 0) {
            fail(Exit::kRunFailed, "{} records of kind {} at detail {}", counts[kind], kind, wanted);
        }
    }
    if (counts[told] == 0) fail(Exit::kRunFailed, "no decision at detail {}", wanted);
}

namespace {

std::uint64_t sum(const Counts& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
}

// All records of a ring, in order of time; and the Losts in it.
struct OfRing {
    std::vector<std::uint64_t> times;
    std::vector<model::Lost> losts;
};

std::map<std::uint32_t, OfRing> by_ring(const OrderedLog& log) {
    std::map<std::uint32_t, OfRing> rings;
    const auto add = [&](const model::Record& record) {
        const model::Stamp* stamp = model::stamp_of(record);
        if (stamp == nullptr) return;
        if (const auto* lost = std::get_if<model::Lost>(&record)) {
            rings[stamp->cpu].losts.push_back(*lost);
        } else {
            rings[stamp->cpu].times.push_back(stamp->time_ns);
        }
    };
    for (const auto& [cpu, records] : log.by_rq) {
        for (const model::Record& record : records) add(record);
    }
    for (const model::Record& record : log.unordered) add(record);
    return rings;
}

// A check that is dropped has the time at which it began: what was stored during it is younger.
constexpr std::uint64_t kLongestCheck_ns = 5'000'000;

void check_lost(std::uint32_t cpu, const OfRing& ring, const model::Lost& lost) {
    std::uint64_t after = 0;
    for (const std::uint64_t time : ring.times) {
        if (time > lost.first_ns + kLongestCheck_ns && time < lost.last_ns) {
            fail(Exit::kRunFailed, "CPU {}: a record of {} in the time {}..{} that a Lost covers", cpu,
                 time, lost.first_ns, lost.last_ns);
        }
        after += time > lost.last_ns;
    }
    if (after < 50) fail(Exit::kRunFailed, "CPU {}: {} records behind its Lost", cpu, after);
}

}  // namespace

void losses(const OrderedLog& log) {
    const std::map<std::uint32_t, Found> found = count_file(log);
    std::uint64_t lost = 0;
    for (const RingBooks& books : log.end->rings()) {
        std::uint64_t dropped = 0;
        for (const std::uint64_t count : books.dropped()) dropped += count;
        const auto cpu = found.find(books.cpu());
        const std::uint64_t told = cpu != found.end() ? sum(cpu->second.lost) : 0;
        if (told != dropped) {
            fail(Exit::kRunFailed, "CPU {}: dropped {}, Losts tell of {}", books.cpu(), dropped, told);
        }
        lost += dropped;
    }
    if (lost == 0) fail(Exit::kRunFailed, "nothing was lost");
    for (const auto& [cpu, ring] : by_ring(log)) {
        for (const model::Lost& one : ring.losts) check_lost(cpu, ring, one);
    }
    const std::uint64_t gap = log.validity.count(Badness::kSequenceGap);
    const std::uint64_t repeats = log.validity.count(Badness::kSequenceRepeat);
    if (gap > lost || repeats != 0 || log.validity.count(Badness::kForeignLayout) != 0) {
        fail(Exit::kRunFailed, "{} lost, but {} sequence numbers missing, {} too many", lost, gap,
             repeats);
    }
    fmt::print("{} lost, told by Losts; {} sequence numbers missing\n", lost, gap);
}

void paths(const OrderedLog& log) {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [cpu, records] : log.by_rq) {
        for (const model::Record& record : records) {
            if (const auto* decision = std::get_if<model::Decision>(&record)) {
                ++counts[Path_Name(static_cast<Path>(decision->path))];
            }
            if (const auto* brief = std::get_if<model::Brief>(&record)) {
                ++counts[Path_Name(static_cast<Path>(brief->path))];
            }
        }
    }
    for (const auto& [path, count] : counts) fmt::print("{} {}\n", path, count);
}

void tasks(const OrderedLog& log) {
    for (const model::Record& record : log.unordered) {
        if (const auto* task = std::get_if<model::Task>(&record)) {
            fmt::print("{} {}\n", task->pid, task->nice);
        }
    }
}

}  // namespace fairswitch::prove
