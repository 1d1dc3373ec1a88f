// The log proves the variant, position by position.
#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <optional>
#include <tuple>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

// Counts of a property in records under each position of a variant: [0] without, [1] with.
class Tally {
  public:
    // `property`: what the counted records have, as in "3 of 7 {property}".
    Tally(const OrderedLog& log, const char* id, const char* property)
        : log_(log), id_(id), bit_(variant_bit(log.header, id)), property_(property) {}

    bool is_with(const model::Stamp& stamp) const { return prove::is_with(log_, stamp, bit_); }

    void add(bool with, bool holds) {
        ++seen_[with];
        holds_[with] += holds;
    }

    void add(const model::Stamp& stamp, bool holds) { add(is_with(stamp), holds); }

    // Never `with`, sometimes `without`.
    void expect_prevented() const {
        print();
        expect_some_seen();
        if (holds_[1] != 0) {
            fail(Exit::kRunFailed, "with: expected none of {} to be {}, found {}", seen_[1],
                 property_, holds_[1]);
        }
        if (holds_[0] == 0) {
            fail(Exit::kRunFailed, "without: expected some of {} to be {}, found none", seen_[0],
                 property_);
        }
        print_cells();
    }

    // Always `with`, never `without`.
    void expect_switched() const {
        print();
        expect_some_seen();
        if (holds_[0] != 0) {
            fail(Exit::kRunFailed, "without: {} of {} {}, expected none", holds_[0], seen_[0],
                 property_);
        }
        if (holds_[1] != seen_[1]) {
            fail(Exit::kRunFailed, "with: only {} of {} {}", holds_[1], seen_[1], property_);
        }
        print_cells();
    }

  private:
    void print() const {
        fmt::print("without: {} of {} {}; with: {} of {}\n", holds_[0], seen_[0], property_,
                   holds_[1], seen_[1]);
    }

    void expect_some_seen() const {
        for (const unsigned with : {0, 1}) {
            if (seen_[with] == 0) {
                fail(Exit::kRunFailed, "nothing to judge in position `{}`",
                     with ? "with" : "without");
            }
        }
    }

    // For the table of what was observed, in which each position is a cell: see tests/kernel/cells.
    void print_cells() const {
        for (const unsigned with : {0, 1}) {
            const bool stock = with == stock_is_with(log_.header, id_);
            fmt::print("cell {} {} {} {} of {} {}\n", id_, with ? "with" : "without",
                       stock ? "stock" : "gated", holds_[with], seen_[with], property_);
        }
    }

    const OrderedLog& log_;
    const char* id_;
    std::uint32_t bit_;
    const char* property_;
    std::array<std::uint64_t, 2> seen_{};
    std::array<std::uint64_t, 2> holds_{};
};

template <typename Kind, typename Visit>
void for_each(const OrderedLog& log, Visit visit) {
    for (const auto& [cpu, records] : log.by_rq) {
        for (const model::Record& record : records) {
            if (const Kind* kind = std::get_if<Kind>(&record)) visit(*kind);
        }
    }
}

bool delayed(const std::optional<model::Entity>& entity) {
    return entity && (entity->flags & FSW_ENTITY_DELAYED) != 0;
}

// Which entity of a runqueue: a task by its pid, a group's entity by the group it stands for.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

Key key_of(const model::Entity& entity) {
    const std::uint32_t kind = (entity.flags >> FSW_ENTITY_OWNED_SHIFT) & 3;
    return {entity.pid, entity.pid != 0 ? 0 : kind, entity.pid != 0 ? 0 : entity.owned_group_id};
}

struct Delayed {
    std::uint32_t rq_cpu;
    std::uint64_t weight;
    std::int64_t lag;
    bool with;
    std::uint32_t generation;
};

// Two computations of one lag can differ by rounding, and by parts in a million at the clamp.
std::int64_t rounding(std::int64_t lag) { return 16 + std::abs(lag) / 1000; }

class LagProof {
  public:
    explicit LagProof(const OrderedLog& log)
        : log_(log), tally_(log, "lag-clamp", "below the lag they were delayed with") {}

    void run() {
        for (const auto& [cpu, records] : log_.by_rq) {
            delayed_.clear();
            for (const model::Record& record : records) {
                if (const auto* delay = std::get_if<model::Delay>(&record)) see(*delay);
                if (const auto* requeue = std::get_if<model::Requeue>(&record)) see(*requeue);
            }
        }
        fmt::print("set aside: {} reweighted, {} delayed in another position, {} delayed unseen\n",
                   reweighted_, other_position_, unseen_);
        tally_.expect_prevented();
        if (clamped_ == 0) fail(Exit::kRunFailed, "with: no lag was clamped, nothing is proven");
        fmt::print("with: {} lags were clamped\n", clamped_);
    }

  private:
    void see(const model::Delay& delay) {
        if (!delay.entity) return;
        if (delay.verdict == FSW_DELAY_DELAYED) {
            const bool with = tally_.is_with(delay.stamp);
            const bool exact = with && (delay.branches & FSW_LAG_STORED_VALID) != 0;
            delayed_[key_of(*delay.entity)] = {
                delay.stamp.rq_cpu, delay.entity->weight,
                exact ? delay.lag_stored_ns : delay.entity->lag_ns, with, delay.stamp.generation};
        } else if (delay.verdict == FSW_DELAY_FINISHED) {
            compare(delay.stamp, *delay.entity, delay.lag_after_ns,
                    (delay.branches & FSW_LAG_CLAMPED) != 0);
        }
    }

    void see(const model::Requeue& requeue) {
        if (!requeue.entity) return;
        compare(requeue.stamp, *requeue.entity, requeue.lag_after_ns,
                (requeue.branches & FSW_LAG_CLAMPED) != 0);
    }

    void compare(const model::Stamp& stamp, const model::Entity& entity, std::int64_t lag_after,
                 bool clamped) {
        const auto found = delayed_.find(key_of(entity));
        if (found == delayed_.end()) {
            ++unseen_;
            return;
        }
        const Delayed before = found->second;
        delayed_.erase(found);
        const bool with = tally_.is_with(stamp);
        if (before.weight != entity.weight) {
            ++reweighted_;
        } else if (before.with != with) {
            ++other_position_;
        } else {
            clamped_ += clamped;
            const std::int64_t slack = with ? 0 : rounding(before.lag);
            tally_.add(with, lag_after < before.lag - slack);
        }
    }

    const OrderedLog& log_;
    Tally tally_;
    std::map<Key, Delayed> delayed_;
    std::uint64_t reweighted_ = 0;
    std::uint64_t other_position_ = 0;
    std::uint64_t unseen_ = 0;  // before the recording, or on another CPU
    std::uint64_t clamped_ = 0;
};

}  // namespace

void dequeue_delayed(const OrderedLog& log) {
    Tally tally(log, "dequeue-delayed", "kept with a delayed entity picked");
    std::uint64_t branch_taken = 0;
    for_each<model::Decision>(log, [&](const model::Decision& decision) {
        const bool with = tally.is_with(decision.stamp);
        const bool dequeued =
            decision.queue && (decision.queue->branches & FSW_BRANCH_DEQUEUE_DELAYED) != 0;
        if (dequeued && !with) fail(Exit::kRunFailed, "without: the branch was taken");
        branch_taken += dequeued;
        if (decision.path != FSW_PATH_PICK_KEEP || delayed(decision.wakee)) return;
        tally.add(with, delayed(decision.picked));
    });
    tally.expect_prevented();
    if (branch_taken == 0) fail(Exit::kRunFailed, "with: the branch was never taken");
    fmt::print("with: the branch was taken {} times\n", branch_taken);
}

namespace {

// Who is idle by a group above it, though not by its own policy.
bool idle_by_group(const std::optional<model::Entity>& entity) {
    if (!entity || (entity->flags & FSW_ENTITY_EFFECTIVE_IDLE) == 0) return false;
    const unsigned policy = (entity->flags >> FSW_ENTITY_POLICY_SHIFT) & 15;
    return (entity->flags & FSW_ENTITY_TASK) == 0 || policy != SCHED_IDLE;
}

bool idle(const std::optional<model::Entity>& entity) {
    return entity && (entity->flags & FSW_ENTITY_EFFECTIVE_IDLE) != 0;
}

bool branch(const model::Decision& decision, std::uint32_t bit) {
    return decision.queue && (decision.queue->branches & bit) != 0;
}

}  // namespace

void cancel_protection(const OrderedLog& log) {
    Tally tally(log, "cancel-protection", "eligible short-slice wakees that weren't picked preempt");
    for_each<model::Decision>(log, [&](const model::Decision& decision) {
        if (decision.path != FSW_PATH_PICK_KEEP && decision.path != FSW_PATH_CANCEL_PREEMPT) return;
        if (!decision.wakee || !decision.curr || delayed(decision.wakee)) return;
        if ((decision.wakee->flags & FSW_ENTITY_ELIGIBLE) == 0) return;
        if (decision.wakee->slice_ns >= decision.curr->slice_ns) return;
        tally.add(decision.stamp, decision.path == FSW_PATH_CANCEL_PREEMPT);
    });
    tally.expect_switched();
}

namespace {

// Where the kernel names the wakee as next buddy: every preemption for a shorter slice, unless
// somebody was named before whose slice may be shorter still.
void short_buddy_nominates(const OrderedLog& log) {
    Tally tally(log, "short-buddy", "preempting short-slice wakees become the next buddy");
    for_each<model::Decision>(log, [&](const model::Decision& decision) {
        if (decision.verdict != FSW_VERDICT_PREEMPT || decision.path == FSW_PATH_IDLE_PREEMPT) return;
        if (!branch(decision, FSW_BRANCH_SHORT) || decision.queue->buddy_pid != 0) return;
        tally.add(decision.stamp, branch(decision, FSW_BRANCH_BUDDY_NOMINATED));
    });
    tally.expect_switched();
}

}  // namespace

void short_buddy(const OrderedLog& log) {
    // The manifest names the form; the log has it when the module was loaded with its manifest.
    if (log.header.graft().find("reverse-nominate") != std::string::npos) {
        short_buddy_nominates(log);
        return;
    }
    Tally tally(log, "short-buddy", "preempted next buddies lose their turn");
    for_each<model::Decision>(log, [&](const model::Decision& decision) {
        if (decision.verdict != FSW_VERDICT_PREEMPT || !decision.wakee || !decision.curr) return;
        if (!branch(decision, FSW_BRANCH_BUDDY_IS_CURR)) return;
        if (decision.path != FSW_PATH_IDLE_PREEMPT &&
            decision.wakee->slice_ns >= decision.curr->slice_ns) {
            return;
        }
        tally.add(decision.stamp,
                  branch(decision, FSW_BRANCH_BUDDY_CLEARED | FSW_BRANCH_BUDDY_NOMINATED));
    });
    tally.expect_switched();
}

void hierarchical_idle(const OrderedLog& log) {
    Tally tally(log, "hierarchical-idle", "currs idle by their group are preempted for it");
    for_each<model::Decision>(log, [&](const model::Decision& decision) {
        switch (decision.path) {
            case FSW_PATH_SAME_ENTITY:
            case FSW_PATH_THROTTLED:
            case FSW_PATH_RESCHED_PENDING:
            case FSW_PATH_PREEMPTION_OFF:
            case FSW_PATH_OTHER_CLASS:
                return;  // left before idleness was judged
            default:
                break;
        }
        if (!idle_by_group(decision.curr) || !decision.wakee || idle(decision.wakee)) return;
        tally.add(decision.stamp, decision.path == FSW_PATH_IDLE_PREEMPT);
    });
    tally.expect_switched();
}

void lag_clamp(const OrderedLog& log) { LagProof(log).run(); }

void requeue_clock(const OrderedLog& log) {
    Tally tally(log, "requeue-clock", "requeued beside a stale curr");
    for_each<model::Requeue>(log, [&](const model::Requeue& requeue) {
        if ((requeue.branches & FSW_LAG_NO_CURR) != 0) return;
        tally.add(requeue.stamp, requeue.curr_stale_ns > 0);
    });
    tally.expect_prevented();
}

}  // namespace fairswitch::prove
