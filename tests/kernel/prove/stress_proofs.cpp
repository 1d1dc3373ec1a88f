// What must hold whatever was swapped, and however often.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

constexpr unsigned kScaleShift = 10;     // SCHED_FIXEDPOINT_SHIFT
constexpr std::uint64_t kNice0 = 1024;   // se->load.weight of nice 0, scaled down
constexpr std::uint64_t kMinShares = 2;  // MIN_SHARES, and the least that scale_load_down() makes
constexpr std::int64_t kDequeueDelayed = 0x200;  // DEQUEUE_DELAYED of kernel/sched/sched.h, 6.12

std::string setting(const Header& header, const std::string& name) {
    for (const Setting& setting : header.settings()) {
        if (setting.name() == name) return setting.value();
    }
    return {};
}

// TICK_NSEC. The kernels of the lab have HZ=250; a log from elsewhere tells if its kernel hasn't.
std::int64_t tick_ns(const Header& header) {
    const std::string hz = setting(header, "CONFIG_HZ");
    return 1'000'000'000 / (hz.empty() ? 250 : std::stol(hz));
}

// Of a log's kernel: how its entity_lag() limits a lag.
struct Kernel {
    explicit Kernel(const Header& header) {
        const std::string& release = header.kernel_release();
        const std::size_t dot = release.find('.');
        const int major = std::stoi(release);
        const int minor = std::stoi(release.substr(dot + 1));
        old = major < 7;
        flat = major > 7 || (major == 7 && minor >= 3);
        tick = tick_ns(header);
        const std::string features = " " + setting(header, "sched_features") + " ";
        delay_zero = features.find(" DELAY_ZERO ") != std::string::npos;
    }

    bool old;   // vlag of a queued entity is also the mark of protection
    bool flat;  // all tasks on one cfs_rq
    std::int64_t tick;
    bool delay_zero;
};

template <typename Visit>
void for_each_entity(const model::Record& record, Visit visit) {
    const auto one = [&](const std::optional<model::Entity>& entity) {
        if (entity) visit(*entity);
    };
    if (const auto* decision = std::get_if<model::Decision>(&record)) {
        if (decision->path == FSW_PATH_OTHER_CLASS) return;  // the entities mean nothing
        one(decision->wakee);
        one(decision->curr);
        one(decision->picked);
    } else if (const auto* requeue = std::get_if<model::Requeue>(&record)) {
        one(requeue->entity);
    } else if (const auto* delay = std::get_if<model::Delay>(&record)) {
        one(delay->entity);
    }
}

// entity_lag() and what is made of its result. In fair.c:
//   6.12       limit = calc_delta_fair(max(2 * se->slice, TICK_NSEC), se)
//   7.2, 7.3   limit = calc_delta_fair(cfs_rq_max_slice(cfs_rq) + TICK_NSEC, se)
// The longest slice on the cfs_rq isn't recorded: the longest one in the log stands for it, which
// is as long or longer, since whoever is queued is sooner or later woken, run or put to sleep.
// No variant may leave a lag beyond that: lag-clamp only takes the greater of two, of which the
// one is limited and the other is negative.
class LagBounds {
  public:
    explicit LagBounds(const OrderedLog& log) : log_(log), kernel_(log.header) {
        for (const auto& [cpu, records] : log.by_rq) {
            for (const model::Record& record : records) {
                for_each_entity(record, [&](const model::Entity& entity) {
                    longest_slice_ = std::max<std::int64_t>(
                        longest_slice_, static_cast<std::int64_t>(entity.slice_ns));
                });
            }
        }
    }

    void run() {
        for (const auto& [cpu, records] : log_.by_rq) {
            for (const model::Record& record : records) {
                for_each_entity(record, [&](const model::Entity& entity) {
                    check("as read", *model::stamp_of(record), entity, entity.lag_ns, read_);
                });
                if (const auto* decision = std::get_if<model::Decision>(&record)) see(*decision);
                if (const auto* requeue = std::get_if<model::Requeue>(&record)) see(*requeue);
                if (const auto* delay = std::get_if<model::Delay>(&record)) see(*delay);
            }
        }
        report();
    }

  private:
    struct Worst {
        std::uint64_t seen = 0;
        double share = 0;  // of the bound
        std::int64_t lag_ns = 0;
        std::int64_t bound_ns = 0;
    };

    std::int64_t bound(const model::Entity& entity) const {
        return bound(entity, kernel_.old ? entity.slice_ns : longest_slice_);
    }

    // Not even the entity's own slice is sure to count: the tree learns later of one that is changed.
    std::int64_t least_bound(const model::Entity& entity) const {
        return bound(entity, kernel_.old ? entity.slice_ns : 0);
    }

    std::int64_t bound(const model::Entity& entity, std::int64_t slice) const {
        const std::int64_t limit =
            kernel_.old ? std::max(2 * slice, kernel_.tick) : slice + kernel_.tick;
        // calc_delta_fair(): before 7.2 it divides by scale_load_down() of the weight.
        const std::uint64_t unit = kernel_.old ? kNice0 : kNice0 << kScaleShift;
        const std::uint64_t weight =
            std::max(kernel_.old ? entity.weight >> kScaleShift : entity.weight, kMinShares);
        return limit * static_cast<std::int64_t>(unit) / static_cast<std::int64_t>(weight);
    }

    // The kernel divides by multiplying with a rounded inverse.
    static std::int64_t slack(std::int64_t bound) { return 16 + bound / 1000; }

    void check(const char* what, const model::Stamp& stamp, const model::Entity& entity,
               std::int64_t lag, Worst& worst) const {
        check(what, stamp, entity, lag, bound(entity), worst);
    }

    void check(const char* what, const model::Stamp& stamp, const model::Entity& entity,
               std::int64_t lag, std::int64_t limit, Worst& worst) const {
        const double share = std::abs(static_cast<double>(lag)) / static_cast<double>(limit);
        ++worst.seen;
        if (share > worst.share) {
            worst.share = share;
            worst.lag_ns = lag;
            worst.bound_ns = limit;
        }
        if (std::abs(lag) > limit + slack(limit)) complain(what, stamp, entity, lag, limit);
    }

    [[noreturn]] void complain(const char* what, const model::Stamp& stamp,
                               const model::Entity& entity, std::int64_t lag,
                               std::int64_t limit) const {
        fail(Exit::kRunFailed,
             "CPU {} record {}: lag {} of pid {} (weight {}, slice {} ns, flags {:x}) {}; the "
             "bound is {} ns, arm {}",
             stamp.rq_cpu, stamp.seq, lag, entity.pid, entity.weight, entity.slice_ns,
             entity.flags, what, limit, stamp.arm);
    }

    // Both are of the cfs_rq whose V is told only where they were compared, or happen to be.
    bool same_queue(const model::Decision& decision) const {
        constexpr std::uint32_t kGroup = 3u << FSW_ENTITY_GROUP_SHIFT;
        return kernel_.flat ||
               (decision.wakee->group_id == decision.curr->group_id &&
                (decision.wakee->flags & kGroup) == (decision.curr->flags & kGroup));
    }

    void see(const model::Decision& decision) {
        if (decision.path == FSW_PATH_OTHER_CLASS) return;
        if (!decision.queue || !decision.curr || !decision.wakee) return;
        read_back(decision, *decision.curr);
        if (same_queue(decision)) {
            read_back(decision, *decision.wakee);
        } else {
            ++elsewhere_;
            elsewhere_limited_ += std::abs(decision.wakee->lag_ns) >=
                                  bound(*decision.wakee) - slack(bound(*decision.wakee));
        }
    }

    // V - vruntime, limited, is the lag that was read.
    void read_back(const model::Decision& decision, const model::Entity& entity) {
        const auto raw =
            static_cast<std::int64_t>(decision.queue->avg_vruntime_ns - entity.vruntime_ns);
        const std::int64_t limit = bound(entity);
        ++raw_;
        beyond_ += std::abs(raw) > limit;
        worst_raw_ = std::max(worst_raw_,
                              std::abs(static_cast<double>(raw)) / static_cast<double>(limit));
        // Where the bound is only known to lie between two, so is a limited lag.
        const std::int64_t nearest = std::clamp(raw, -least_bound(entity), least_bound(entity));
        const std::int64_t farthest = std::clamp(raw, -limit, limit);
        const auto [low, high] = std::minmax(nearest, farthest);
        const bool agrees =
            entity.lag_ns >= low - slack(limit) && entity.lag_ns <= high + slack(limit);
        if (!agrees) {
            complain(fmt::format("isn't V - vruntime = {} limited", raw).c_str(), decision.stamp, entity,
                     entity.lag_ns, limit);
        }
    }

    void see(const model::Requeue& requeue) {
        if (!requeue.entity) return;
        check_left("after a requeue", requeue.stamp, *requeue.entity, requeue.lag_after_ns,
                   bound(*requeue.entity), requeued_);
        gained_nothing(requeue.stamp, *requeue.entity, requeue.lag_after_ns);
    }

    void see(const model::Delay& delay) {
        if (!delay.entity) return;
        switch (delay.verdict) {
            case FSW_DELAY_DELAYED:
                if ((delay.branches & FSW_LAG_STORED_VALID) == 0) return;
                check_left("when delayed", delay.stamp, *delay.entity, delay.lag_after_ns,
                           bound_of_left(*delay.entity), delayed_);
                gained_nothing(delay.stamp, *delay.entity, delay.lag_after_ns);
                break;
            case FSW_DELAY_FINISHED:
                check_left("when a delayed one left", delay.stamp, *delay.entity,
                           delay.lag_after_ns, bound_of_left(*delay.entity), left_);
                // 6.12 asks only when the entity leaves for having been delayed, not on its way
                // to another CPU or class.
                if (!kernel_.old || (delay.dequeue_flags & kDequeueDelayed) != 0) {
                    gained_nothing(delay.stamp, *delay.entity, delay.lag_after_ns);
                }
                break;
            default:
                check_left("when dequeued", delay.stamp, *delay.entity, delay.lag_after_ns,
                           bound_of_left(*delay.entity), dequeued_);
                break;
        }
    }

    // Where groups are flat, whoever wakes, goes to sleep or leaves gets a new weight from its groups,
    // and its lag is scaled with it after it was limited (rescale_entity()). That weight isn't recorded;
    // stock goes beyond the old one's bound as well.
    void check_left(const char* what, const model::Stamp& stamp, const model::Entity& entity,
                    std::int64_t lag, std::int64_t limit, Worst& worst) {
        if (kernel_.flat) {
            ++rescaled_;
        } else {
            check(what, stamp, entity, lag, limit, worst);
        }
    }

    // Whoever dequeues a group or delays it gives it its new weight after its lag, and rescales the lag by
    // the old weight over the new one (update_cfs_group(), reweight_entity()). The new one isn't recorded;
    // the least is kMinShares, not scaled.
    std::int64_t bound_of_left(const model::Entity& entity) const {
        const std::int64_t bound_as_queued = bound(entity);
        if ((entity.flags & FSW_ENTITY_TASK) != 0) return bound_as_queued;
        return bound_as_queued * static_cast<std::int64_t>(std::max(entity.weight, kMinShares)) /
               static_cast<std::int64_t>(kMinShares);
    }

    // DELAY_ZERO: being delayed earns nothing.
    void gained_nothing(const model::Stamp& stamp, const model::Entity& entity,
                        std::int64_t lag) const {
        if (kernel_.delay_zero && lag > 0) {
            complain("was gained while delayed", stamp, entity, lag, 0);
        }
    }

    static void print(const char* what, const Worst& worst) {
        fmt::print("{}: {} lags, the worst {} ns of {} ns, {:.1f} % of its bound\n", what,
                   worst.seen, worst.lag_ns, worst.bound_ns, 100 * worst.share);
        if (worst.seen == 0) fail(Exit::kRunFailed, "no lag {}: nothing is proven", what);
    }

    void report() const {
        print("as read", read_);
        if (kernel_.flat) {
            fmt::print("set aside: {} lags that were scaled when their entity woke, slept or left\n", rescaled_);
        } else {
            print("after a requeue", requeued_);
            print("when delayed", delayed_);
            print("when a delayed one left", left_);
            print("when dequeued", dequeued_);
        }
        fmt::print("V - vruntime: {} read back, {} beyond the bound, the worst {:.1f} times it; "
                   "longest slice {} ns\n",
                   raw_, beyond_, worst_raw_, longest_slice_);
        fmt::print("wakees queued elsewhere than curr: {}, {} at their bound\n", elsewhere_,
                   elsewhere_limited_);
        if (2 * elsewhere_limited_ > elsewhere_) {
            fail(Exit::kRunFailed,
                 "{} of {} lags of wakees queued elsewhere than curr are at their bound; expected "
                 "few, as these are lags on a queue that they aren't on",
                 elsewhere_limited_, elsewhere_);
        }
        if (raw_ == 0) fail(Exit::kRunFailed, "no lag could be read back from V and vruntime");
    }

    const OrderedLog& log_;
    const Kernel kernel_;
    std::int64_t longest_slice_ = 0;
    Worst read_, requeued_, delayed_, left_, dequeued_;
    std::uint64_t rescaled_ = 0;
    std::uint64_t raw_ = 0;
    std::uint64_t beyond_ = 0;
    double worst_raw_ = 0;
    std::uint64_t elsewhere_ = 0;
    std::uint64_t elsewhere_limited_ = 0;
};

}  // namespace

void lag_bounds(const OrderedLog& log) { LagBounds(log).run(); }

void every_arm(const OrderedLog& log, std::uint64_t wanted) {
    std::map<std::uint32_t, std::uint64_t> decisions;
    for (const Arm& arm : log.header.arms()) decisions[arm.id()] = 0;
    for (const auto& [cpu, records] : log.by_rq) {
        std::uint64_t swaps = 0;
        for (const model::Record& record : records) {
            if (const auto* decision = std::get_if<model::Decision>(&record)) {
                ++decisions[decision->stamp.arm];
            } else if (const auto* swap = std::get_if<model::Swap>(&record)) {
                swaps += swap->reason == FSW_SWAP_SET;
            }
        }
        if (swaps != wanted) {
            fail(Exit::kRunFailed, "CPU {}: {} swaps were made, {} are in the log", cpu, wanted,
                 swaps);
        }
    }
    const auto count = [](const auto& arm) { return arm.second; };
    const auto fewest = std::ranges::min_element(decisions, {}, count);
    std::uint64_t total = 0;
    for (const auto& [arm, n] : decisions) total += n;
    fmt::print("{} swaps on each of {} CPUs, {} decisions under {} arms, {} at least\n", wanted,
               log.by_rq.size(), total, decisions.size(), fewest->second);
    if (decisions.size() != static_cast<std::size_t>(log.header.arms_size())) {
        fail(Exit::kRunFailed, "decisions under {} arms, but the log names {}", decisions.size(),
             log.header.arms_size());
    }
    if (fewest->second == 0) {
        fail(Exit::kRunFailed, "nothing was decided under arm {}", fewest->first);
    }
}

}  // namespace fairswitch::prove
