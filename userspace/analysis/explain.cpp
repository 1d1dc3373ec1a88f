#include "userspace/analysis/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace fairswitch {
namespace {

constexpr size_t kMostSlices = 12;
constexpr size_t kMostOthers = 6;

std::string path_text(const model::Decision& decision, const Evidence& evidence) {
    const uint64_t time = decision.stamp.time_ns;
    const bool has_pick = decision.picked.has_value();
    const std::string picked =
        !has_pick              ? (model::is_brief(decision) ? "a group or nobody" : "nobody")
        : decision.picked->pid ? evidence.who(decision.picked->pid, time)
                               : fmt::format("group entity {}", decision.picked->owned_group_id);
    const bool delayed = has_pick && (decision.picked->flags & FSW_ENTITY_DELAYED);
    switch (decision.path) {
        case FSW_PATH_SAME_ENTITY:
            return "the wakee is the running entity";
        case FSW_PATH_THROTTLED:
            return "the wakee's group is throttled";
        case FSW_PATH_RESCHED_PENDING:
            return "a reschedule was already pending";
        case FSW_PATH_PREEMPTION_OFF:
            return "sched feature WAKEUP_PREEMPTION is off";
        case FSW_PATH_IDLE_PREEMPT:
            return "the running entity is idle, the wakee isn't";
        case FSW_PATH_IDLE_KEEP:
            return "the wakee is idle, the running entity isn't";
        case FSW_PATH_POLICY_KEEP:
            return "batch and idle wakees don't preempt";
        case FSW_PATH_PICK_PREEMPT:
            return "pick_eevdf() chose the wakee";
        case FSW_PATH_PICK_KEEP:
            if (delayed)
                return fmt::format("pick_eevdf() chose {}, which sleeps: delayed, still queued",
                                   picked);
            if (has_pick && decision.picked->pid && decision.picked->pid == decision.curr_pid)
                return fmt::format("pick_eevdf() chose {}, the running one", picked);
            return fmt::format("pick_eevdf() chose {}", picked);
        case FSW_PATH_CANCEL_PREEMPT:
            return fmt::format(
                "pick_eevdf() chose {}, but the wakee is eligible with a shorter slice: the "
                "running one's protection was cancelled",
                picked);
        case FSW_PATH_OTHER_CLASS:
            return "the wakee or the running task isn't of the fair class";
        case FSW_PATH_DELAYED_KEEP:
            return "the wakee itself is delayed";
        case FSW_PATH_FORK_KEEP:
            return "the wakee is a new task";
        case FSW_PATH_SYNC_KEEP:
            return "a sync wakeup: the waker is about to sleep";
        case FSW_PATH_SYNC_PREEMPT:
            return "a sync wakeup that is worth a reschedule";
        default:
            return fmt::format("path {}", decision.path);
    }
}

// Lines with the time since the expected moment in front.
class Story {
  public:
    Story(const Period& period, const Evidence& evidence, const DecisionStore& decisions)
        : period_(period), evidence_(evidence), decisions_(decisions) {}

    std::vector<std::string> tell(const std::string& arm_name,
                                  std::optional<uint64_t> block_number) {
        headline(arm_name, block_number);
        timer();
        for (const model::Requeue* requeue : decisions_.requeues(period_)) requeued(*requeue);
        about_ = decisions_.about(period_);
        for (const model::Decision* decision : about_) decided(*decision);
        waited();
        others();
        ran();
        std::stable_sort(lines_.begin(), lines_.end(),
                         [](const Line& a, const Line& b) { return a.at < b.at; });
        std::vector<std::string> out = {head_};
        for (const Line& line : lines_) {
            out.push_back(fmt::format("  {:>10}  {}", signed_duration(line.at), line.text));
            for (const std::string& more : line.more) out.push_back("                " + more);
        }
        out.push_back("  cause: " + cause());
        return out;
    }

  private:
    struct Line {
        int64_t at = 0;
        std::string text;
        std::vector<std::string> more;
    };

    int64_t since(uint64_t time_ns) const {
        return static_cast<int64_t>(time_ns) - period_.expected_ns;
    }

    // With the length of the part that makes it the cause.
    std::string cause() const {
        const Cause cause = cause_of(period_, evidence_, decisions_);
        if (!cause_explains(cause)) return cause_text(cause);
        return fmt::format("{}: {} of {}", cause_text(cause),
                           duration_text(parts_of(period_, evidence_).longest()),
                           duration_text(period_.latency_ns));
    }

    void say(uint64_t time_ns, std::string text, std::vector<std::string> more = {}) {
        lines_.push_back({since(time_ns), std::move(text), std::move(more)});
    }

    void headline(const std::string& arm_name, std::optional<uint64_t> block_number) {
        head_ = fmt::format("{} late: {}", duration_text(period_.latency_ns),
                            evidence_.who(period_.pid, period_.wake.stamp.time_ns));
        if (period_.sample) head_ += fmt::format(", cycle {}", period_.sample->cycle);
        // The log counts from 0, people from 1.
        if (block_number) head_ += fmt::format(", block {}", *block_number + 1);
        head_ += fmt::format(", arm {}", arm_name);
    }

    void timer() {
        const model::Wake& wake = period_.wake;
        say(static_cast<uint64_t>(period_.expected_ns), "expected to wake");
        if (wake.timer)
            say(wake.timer->fired_ns,
                fmt::format("timer fired on CPU {} (slack allowed: {})", wake.timer->fired_cpu,
                            duration_text(static_cast<int64_t>(wake.timer_slack_ns))));
        if (period_.still_running)
            say(wake.stamp.time_ns,
                fmt::format("woken on CPU {}, before it had left the CPU, where it stayed for {}: "
                            "no check is made",
                            wake.stamp.cpu,
                            duration_text(parts_of(period_, evidence_).stalled_ns)));
        else
            say(wake.stamp.time_ns,
                fmt::format("woken on CPU {}, over {}; it had slept on CPU {}", wake.stamp.cpu,
                            evidence_.who(wake.waker_pid, wake.stamp.time_ns), wake.task_cpu));
    }

    void requeued(const model::Requeue& requeue) {
        std::string clamp = requeue.branches & FSW_LAG_CLAMPED ? ", raised by lag-clamp" : "";
        std::string clock =
            requeue.curr_stale_ns
                ? fmt::format(", running entity's clock {} old",
                              duration_text(static_cast<int64_t>(requeue.curr_stale_ns)))
                : "";
        say(requeue.stamp.time_ns,
            fmt::format("was delayed, requeued with lag {} (stored {}){}{}",
                        signed_duration(requeue.lag_after_ns),
                        signed_duration(requeue.lag_stored_ns), clamp, clock));
    }

    std::vector<std::string> entities(const model::Decision& decision) const {
        std::vector<std::string> more;
        if (model::is_brief(decision)) return more;
        const uint64_t v = decision.queue ? decision.queue->avg_vruntime_ns : 0;
        auto add = [&](const char* role, const std::optional<model::Entity>& entity) {
            if (entity) more.push_back(fmt::format("{:<8}{}", role, entity_text(*entity, v)));
        };
        add("wakee", decision.wakee);
        add("running", decision.curr);
        add("picked", decision.picked);
        if (decision.queue && decision.queue->delayed_dequeued)
            more.push_back(fmt::format("{} delayed dequeued, {} picks made",
                                       decision.queue->delayed_dequeued, decision.queue->picks));
        return more;
    }

    void decided(const model::Decision& decision) {
        const char* verdict = decision.verdict == FSW_VERDICT_PREEMPT ? "PREEMPT" : "KEEP";
        say(decision.stamp.time_ns,
            fmt::format("decided on CPU {}, {} running: {}", decision.stamp.rq_cpu,
                        evidence_.who(decision.curr_pid, decision.stamp.time_ns), verdict),
            {});
        std::vector<std::string>& more = lines_.back().more;
        more.push_back(decision_text(decision, evidence_));
        for (std::string& line : entities(decision)) more.push_back(std::move(line));
        if (decision.stamp.rq_cpu != period_.cpu && period_.switch_in_ns)
            more.push_back(fmt::format("(it was moved to CPU {} while it waited)", period_.cpu));
    }

    void waited() {
        std::vector<RunSlice> slices = who_ran(period_, evidence_, decisions_);
        for (size_t i = 0; i < std::min(slices.size(), kMostSlices); ++i) {
            const RunSlice& slice = slices[i];
            const char* end = slice.pid == 0       ? "then woken"
                              : slice.ended_asleep ? "then slept"
                                                   : "then preempted";
            auto length = static_cast<int64_t>(slice.to_ns - slice.from_ns);
            say(slice.from_ns,
                fmt::format("{} ran for {}, {}", evidence_.who(slice.pid, slice.from_ns),
                            duration_text(length), end));
        }
        if (slices.size() <= kMostSlices) return;
        int64_t rest = 0;
        for (size_t i = kMostSlices; i < slices.size(); ++i)
            rest += static_cast<int64_t>(slices[i].to_ns - slices[i].from_ns);
        say(slices[kMostSlices].from_ns,
            fmt::format("{} more turns, {} together", slices.size() - kMostSlices,
                        duration_text(rest)));
    }

    // Decisions about others on the same runqueue while it waited.
    void others() {
        if (!period_.switch_in_ns) return;
        auto all = decisions_.on(period_.cpu, period_.wake.stamp.time_ns, *period_.switch_in_ns);
        std::erase_if(all, [&](const model::Decision* d) { return d->wakee_pid == period_.pid; });
        if (all.empty()) return;
        size_t preempts = std::count_if(all.begin(), all.end(), [](const model::Decision* d) {
            return d->verdict == FSW_VERDICT_PREEMPT;
        });
        for (size_t i = 0; i < std::min(all.size(), kMostOthers); ++i) {
            const model::Decision& d = *all[i];
            const uint64_t time = d.stamp.time_ns;
            say(time,
                fmt::format("meanwhile {} woke, {} running: {}", evidence_.who(d.wakee_pid, time),
                            evidence_.who(d.curr_pid, time), decision_text(d, evidence_)));
        }
        if (all.size() > kMostOthers)
            say(all[kMostOthers]->stamp.time_ns,
                fmt::format("… {} checks about others in all, {} preempted", all.size(), preempts));
    }

    void ran() {
        if (period_.switch_in_ns)
            say(*period_.switch_in_ns,
                fmt::format("switched in on CPU {}{}", period_.cpu,
                            period_.interrupted ? ", after it was preempted once more" : ""));
        else
            say(period_.wake.stamp.time_ns, "never left the CPU, or no switch-in in the log");
        if (period_.sample) say(period_.read_ns(), "read the clock");
    }

    const Period& period_;
    const Evidence& evidence_;
    const DecisionStore& decisions_;
    std::vector<const model::Decision*> about_;
    std::string head_;
    std::vector<Line> lines_;
};

}  // namespace

std::string duration_text(int64_t ns) {
    const int64_t size = std::llabs(ns);
    if (size < 1000) return fmt::format("{} ns", ns);
    if (size < 10'000) return fmt::format("{:.1f} us", ns / 1e3);
    if (size < 1'000'000) return fmt::format("{:.0f} us", ns / 1e3);
    if (size < 10'000'000'000) return fmt::format("{:.2f} ms", ns / 1e6);
    return fmt::format("{:.1f} s", ns / 1e9);
}

std::string signed_duration(int64_t ns) { return (ns >= 0 ? "+" : "") + duration_text(ns); }

std::string flags_text(uint32_t flags) {
    std::string out = flags & FSW_ENTITY_ELIGIBLE ? "eligible" : "not eligible";
    if (flags & FSW_ENTITY_DELAYED) out += ", delayed";
    if (flags & FSW_ENTITY_PROTECTED) out += ", protected";
    if (flags & FSW_ENTITY_IDLE) out += ", idle";
    if (flags & FSW_ENTITY_CUSTOM_SLICE) out += ", custom slice";
    return out;
}

std::string decision_text(const model::Decision& decision, const Evidence& evidence) {
    const char* verdict = decision.verdict == FSW_VERDICT_PREEMPT ? "preempt" : "keep";
    const char* resched = "";
    if (decision.resched == FSW_RESCHED_LAZY) resched = "; lazily, may wait for the tick";
    if (decision.resched == FSW_RESCHED_NOW_IPI) resched = "; the other CPU is interrupted";
    return fmt::format("{}: {}{}", verdict, path_text(decision, evidence), resched);
}

std::string entity_text(const model::Entity& entity, uint64_t avg_vruntime_ns) {
    std::string deadline;
    if (avg_vruntime_ns) {
        auto distance = static_cast<int64_t>(entity.deadline_ns - avg_vruntime_ns);
        deadline = fmt::format(", deadline V{}", signed_duration(distance));
    }
    return fmt::format("lag {}, slice {}{}, {}", signed_duration(entity.lag_ns),
                       duration_text(static_cast<int64_t>(entity.slice_ns)), deadline,
                       flags_text(entity.flags));
}

std::vector<std::string> explain(const Period& period, const Evidence& evidence,
                                 const DecisionStore& decisions, const std::string& arm_name,
                                 std::optional<uint64_t> block_number) {
    return Story(period, evidence, decisions).tell(arm_name, block_number);
}

}  // namespace fairswitch
