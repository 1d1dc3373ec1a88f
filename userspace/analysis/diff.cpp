#include "userspace/analysis/diff.h"

#include <algorithm>
#include <deque>

#include "userspace/analysis/branches.h"
#include "userspace/analysis/runqueue_order.h"

namespace fairswitch {
namespace {

// Behind a difference, as many equal decisions make it a matter of some that one side lacks.
constexpr size_t kAlike = 8;
// So many at most.
constexpr size_t kMostMissing = 8;
constexpr size_t kLookAhead = kAlike + kMostMissing;

// A decision that waits for its partner, and the variants' branches since the one before.
struct Step {
    model::Decision decision;
    Taken taken{};
    uint64_t skipped = 0;  // sequence numbers missing up to it
};

void add(Taken& sum, const Taken& taken) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += taken[i];
}

bool any(const Taken& taken) {
    return std::any_of(taken.begin(), taken.end(), [](uint32_t count) { return count > 0; });
}

// Who was picked, groups included; nobody is no one's equal but nobody's.
std::optional<std::pair<uint32_t, uint64_t>> pick_of(const model::Decision& decision) {
    if (!decision.picked) return std::nullopt;
    return std::pair{decision.picked->pid, decision.picked->owned_group_id};
}

// One runqueue of both logs.
class Lane {
  public:
    Lane(uint32_t rq_cpu, uint64_t decisions_a, uint64_t decisions_b)
        : total_{decisions_a, decisions_b} {
        out_.rq_cpu = rq_cpu;
    }

    bool parted() const { return parted_; }
    const RunqueueDiff& result() const { return out_; }

    void add(size_t side, const model::Record& record, uint64_t skipped) {
        if (parted_) return;
        count_branches(side, record);
        const auto* decision = std::get_if<model::Decision>(&record);
        if (!decision) return;
        ++seen_[side];
        // The other side never comes that far.
        if (seen_[side] > total_[1 - side] + kLookAhead) return;
        steps_[side].push_back({*decision, taken_[side], skipped});
        taken_[side] = {};
    }

    // Compares what can be; `ended`: a side from which nothing more comes.
    void compare(const std::array<bool, 2>& ended, Diff& sum) {
        while (!parted_ && !steps_[0].empty() && !steps_[1].empty()) {
            if (same_content(steps_[0].front().decision, steps_[1].front().decision)) {
                take_equal(sum);
                continue;
            }
            for (size_t side = 0; side < 2; ++side)
                if (steps_[side].size() <= kLookAhead && !complete(side, ended)) return;
            part();
        }
    }

    void finish() {
        if (out_.parting != Parting::kNone) return;
        const uint64_t common = out_.common;
        out_.a.more = total_[0] - std::min(total_[0], common + out_.a.head_start);
        out_.b.more = total_[1] - std::min(total_[1], common + out_.b.head_start);
    }

  private:
    DiffSide& side_of(size_t side) { return side == 0 ? out_.a : out_.b; }

    bool complete(size_t side, const std::array<bool, 2>& ended) const {
        return ended[side] || seen_[side] == total_[side];
    }

    void count_branches(size_t side, const model::Record& record) {
        const auto variants = variant_branches();
        for (size_t i = 0; i < std::min(variants.size(), kMostVariants); ++i)
            taken_[side][i] += variants[i].taken(record);
    }

    void take_equal(Diff& sum) {
        const model::Decision& a = steps_[0].front().decision;
        const model::Decision& b = steps_[1].front().decision;
        ++out_.common;
        ++sum.common;
        ++sum.common_paths[a.path % sum.common_paths.size()];
        out_.last_common_ns = a.stamp.time_ns;
        out_.skew.add(out_.common, static_cast<int64_t>(b.stamp.time_ns - a.stamp.time_ns));
        for (size_t side = 0; side < 2; ++side) {
            DiffSide& out = side_of(side);
            const Taken& taken = steps_[side].front().taken;
            if (out.first_taken == 0 && any(taken)) out.first_taken = out_.common;
            fairswitch::add(out.before, taken);
            out.skipped = steps_[side].front().skipped;
            steps_[side].pop_front();
        }
    }

    // How many of this side's decisions, left out, make what follows equal; 0: none do.
    size_t surplus(size_t side) const {
        const auto& with = steps_[side];
        const auto& without = steps_[1 - side];
        for (size_t extra = 1; extra <= kMostMissing && extra < with.size(); ++extra) {
            const size_t alike = std::min({kAlike, with.size() - extra, without.size()});
            bool equal = true;
            for (size_t i = 0; i < alike && equal; ++i)
                equal = same_content(with[i + extra].decision, without[i].decision);
            // A few at the end of a log prove little.
            if (equal && alike == kAlike) return extra;
        }
        return 0;
    }

    void part() {
        const size_t extra_a = surplus(0), extra_b = surplus(1);
        // Neither recording began at the very same moment.
        if (out_.common == 0 && (extra_a || extra_b)) {
            const size_t side = extra_a ? 0 : 1;
            const size_t extra = extra_a ? extra_a : extra_b;
            side_of(side).head_start += extra;
            steps_[side].erase(steps_[side].begin(),
                               steps_[side].begin() + static_cast<std::ptrdiff_t>(extra));
            return;
        }
        out_.parting = extra_a   ? Parting::kMissingInB
                       : extra_b ? Parting::kMissingInA
                                 : Parting::kContent;
        out_.missing = extra_a ? extra_a : extra_b;
        for (size_t side = 0; side < 2; ++side) {
            DiffSide& out = side_of(side);
            out.decision = steps_[side].front().decision;
            out.between = steps_[side].front().taken;
            out.skipped = steps_[side].front().skipped;
            steps_[side].clear();
        }
        parted_ = true;
    }

    RunqueueDiff out_;
    const std::array<uint64_t, 2> total_;
    std::array<uint64_t, 2> seen_{};
    std::array<std::deque<Step>, 2> steps_;
    std::array<Taken, 2> taken_{};  // since the last decision
    bool parted_ = false;
};

// Both logs, read in turns.
class Comparison {
  public:
    Comparison(const RecordSource& next_a, const Survey& a, const RecordSource& next_b,
               const Survey& b, size_t most_waiting)
        : next_{&next_a, &next_b},
          order_{RunqueueOrder(first_seqs(a), most_waiting, sink(0)),
                 RunqueueOrder(first_seqs(b), most_waiting, sink(1))} {
        for (const Survey* survey : {&a, &b})
            for (const auto& [cpu, runqueue] : survey->runqueues)
                if (a.decisions_on(cpu) + b.decisions_on(cpu) > 0)
                    lanes_.try_emplace(cpu, cpu, a.decisions_on(cpu), b.decisions_on(cpu));
    }

    Diff run() {
        while (!(ended_[0] && ended_[1]) && !all_parted()) {
            read_some(0);
            read_some(1);
            for (auto& [cpu, lane] : lanes_) lane.compare(ended_, out_);
        }
        for (auto& [cpu, lane] : lanes_) {
            lane.finish();
            out_.runqueues.push_back(lane.result());
        }
        return std::move(out_);
    }

  private:
    // So many decisions of each log in turns: what waits for its partner is bounded.
    static constexpr uint64_t kDecisions = 1024;

    static std::map<uint32_t, uint64_t> first_seqs(const Survey& survey) {
        std::map<uint32_t, uint64_t> out;
        for (const auto& [cpu, runqueue] : survey.runqueues)
            if (runqueue.first_seq) out[cpu] = runqueue.first_seq;
        return out;
    }

    RunqueueOrder::Sink sink(size_t side) {
        return [this, side](const model::Record& record) {
            const uint32_t cpu = model::stamp_of(record)->rq_cpu;
            const auto lane = lanes_.find(cpu);
            if (lane != lanes_.end()) lane->second.add(side, record, order_[side].skipped(cpu));
        };
    }

    void read_some(size_t side) {
        uint64_t decisions = 0;
        while (!ended_[side] && decisions < kDecisions) {
            if ((*next_[side])(record_)) {
                decisions += std::holds_alternative<model::Decision>(record_);
                order_[side].add(record_);
            } else {
                order_[side].finish();
                ended_[side] = true;
            }
        }
    }

    bool all_parted() const {
        return !lanes_.empty() && std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) {
            return lane.second.parted();
        });
    }

    const std::array<const RecordSource*, 2> next_;
    std::array<RunqueueOrder, 2> order_;
    std::map<uint32_t, Lane> lanes_;  // by CPU
    std::array<bool, 2> ended_{};
    model::Record record_;
    Diff out_;
};

}  // namespace

bool same_content(const model::Decision& a, const model::Decision& b) {
    return a.wakee_pid == b.wakee_pid && a.curr_pid == b.curr_pid && a.path == b.path &&
           a.verdict == b.verdict && pick_of(a) == pick_of(b);
}

void Skew::add(uint64_t number, int64_t ns) {
    if (number > 1 && ns != last_ns) {
        if (changes++ == 0) {
            first_change = number;
            first_step_ns = ns - last_ns;
        }
    }
    last_ns = ns;
    const uint64_t next = points.empty() ? 1 : points.back().number * 10;
    if (number == next) points.push_back({number, ns});
}

uint64_t RunqueueDiff::parted_ns() const {
    if (!a.decision || !b.decision) return UINT64_MAX;
    return std::min(a.decision->stamp.time_ns, b.decision->stamp.time_ns);
}

const RunqueueDiff* Diff::first() const {
    const auto found = std::min_element(
        runqueues.begin(), runqueues.end(),
        [](const RunqueueDiff& a, const RunqueueDiff& b) { return a.parted_ns() < b.parted_ns(); });
    if (found == runqueues.end() || found->parting == Parting::kNone) return nullptr;
    return &*found;
}

PartingCause parting_cause(const Diff& diff, const RunqueueDiff& parted) {
    if (parted.a.between != parted.b.between) return PartingCause::kBranch;
    const bool earlier = std::any_of(
        diff.runqueues.begin(), diff.runqueues.end(),
        [](const RunqueueDiff& runqueue) { return runqueue.a.before != runqueue.b.before; });
    return earlier ? PartingCause::kEarlierBranch : PartingCause::kSkew;
}

Diff diff(const RecordSource& next_a, const Survey& a, const RecordSource& next_b, const Survey& b,
          size_t most_waiting) {
    return Comparison(next_a, a, next_b, b, most_waiting).run();
}

}  // namespace fairswitch
