#include "userspace/analysis/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "userspace/analysis/branches.h"
#include "userspace/analysis/explain.h"
#include "userspace/log/filter_text.h"

namespace fairswitch {
namespace {

constexpr size_t kLabel = 10;   // "  * branch "
constexpr size_t kColumn = 43;  // of each side
constexpr size_t kScreen = 100;
constexpr size_t kMostRunqueues = 6;
constexpr size_t kMostForced = 8;

std::string seconds(uint64_t ns) {
    return fmt::format("{}.{:09} s", ns / 1'000'000'000, ns % 1'000'000'000);
}

// Words longer than a line are cut.
std::vector<std::string> wrapped(const std::string& text, size_t width,
                                 const std::string& indent = "") {
    std::vector<std::string> lines(1);
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        word = word.substr(0, width - indent.size());
        const bool empty = lines.back().empty() || lines.back() == indent;
        if (!empty && lines.back().size() + 1 + word.size() > width) lines.push_back(indent);
        const bool begins = lines.back().empty() || lines.back() == indent;
        lines.back() += (begins ? "" : " ") + word;
    }
    return lines;
}

std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

// A row of both sides, marked where they differ.
std::string row(const std::string& label, const std::string& a, const std::string& b) {
    const auto left = wrapped(a, kColumn), right = wrapped(b, kColumn);
    std::string out;
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
        out += trimmed(fmt::format("{} {:<{}}{:<{}} {}", i == 0 && a != b ? '*' : ' ',
                                   i == 0 ? label : "", kLabel, i < left.size() ? left[i] : "",
                                   kColumn, i < right.size() ? right[i] : ""));
    return out;
}

std::string number_of(uint64_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string decisions(uint64_t count) { return number_of(count, "decision", "decisions"); }

std::string arm_name(const Header& header, uint32_t id) {
    for (const Arm& arm : header.arms())
        if (arm.id() == id) return arm.name();
    return id == 0 ? "stock" : fmt::format("number {}", id);
}

std::string path_name(uint64_t path) {
    const std::string name = Path_Name(static_cast<int>(path));
    return name.empty() ? fmt::format("path {}", path) : name.substr(sizeof("PATH_") - 1);
}

std::string queue_branches(const model::Decision& decision) {
    static constexpr std::pair<uint32_t, const char*> kWords[] = {
        {FSW_BRANCH_SHORT, "wakee has the shorter slice"},
        {FSW_BRANCH_DEQUEUE_DELAYED, "dequeued a delayed pick, picked again"},
        {FSW_BRANCH_DELAYED_PICKED, "the pick is delayed"},
        {FSW_BRANCH_SHORT_CANCEL, "curr's protection cancelled"},
        {FSW_BRANCH_BUDDY_CLEARED, "curr lost its turn as next buddy"},
        {FSW_BRANCH_BUDDY_NOMINATED, "wakee made next buddy"},
    };
    std::string out;
    for (const auto& [bit, words] : kWords)
        if (decision.queue && (decision.queue->branches & bit))
            out += fmt::format("{}{}", out.empty() ? "" : ", ", words);
    return out.empty() ? "-" : out;
}

std::string taken_text(const Taken& taken) {
    std::string out;
    const auto variants = variant_branches();
    for (size_t i = 0; i < std::min(variants.size(), kMostVariants); ++i)
        if (taken[i])
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", variants[i].id,
                               number_of(taken[i], "time", "times"));
    return out.empty() ? "none" : out;
}

// In what way a log is broken.
std::vector<Badness> breaking(const Validity& validity) {
    std::vector<Badness> out;
    for (size_t i = 0; i < static_cast<size_t>(Badness::kCount); ++i) {
        const auto badness = static_cast<Badness>(i);
        const bool harmless = badness == Badness::kLost || badness == Badness::kSequenceGap ||
                              badness == Badness::kForeignLayout;
        if (!harmless && validity.count(badness) > 0) out.push_back(badness);
    }
    return out;
}

class Screen {
  public:
    Screen(const DiffLog& a, const DiffLog& b, const Diff& diff, int64_t late_ns,
           const std::vector<std::string>& forced)
        : a_(a), b_(b), diff_(diff), late_ns_(late_ns), forced_(forced), first_(diff.first()) {}

    std::string text() {
        warnings();
        log_line("A", a_);
        log_line("B", b_);
        out_ += "\n";
        if (first_) {
            headline();
            both_sides();
            consequences();
        } else {
            nothing_differs();
        }
        ends();
        if (first_) paths();
        first_late();
        return std::move(out_);
    }

  private:
    void say(const std::string& line) { out_ += line + "\n"; }

    void say_wrapped(const std::string& line) {
        for (const std::string& part : wrapped(line, kScreen, "  ")) say(part);
    }

    // What makes the rest doubtful stands first.
    void warnings() {
        losses("A", a_);
        losses("B", b_);
        for (const auto& [name, log] : {std::pair{"A", &a_}, {"B", &b_}}) {
            for (const Badness badness : breaking(log->validity))
                say_wrapped(fmt::format("!! {} IS BROKEN: {} {}", name,
                                        log->validity.count(badness), meaning(badness)));
        }
        for (size_t i = 0; i < std::min(forced_.size(), kMostForced); ++i)
            say("!! NOT ONE CONFIGURATION: " + forced_[i]);
        if (forced_.size() > kMostForced)
            say(fmt::format("!! ... and {} more", forced_.size() - kMostForced));
        for (const auto& [name, log] : {std::pair{"A", &a_}, {"B", &b_}})
            if (log->header.has_filter())
                say_wrapped(fmt::format("!! {} HOLDS ONLY A PART, filtered: {}", name,
                                        filter_text(log->header.filter())));
        if (same_pids(a_.survey, b_.survey) == SamePids::kSome)
            say("!! SOME PIDS ARE IN ONE LOG ONLY: after they part, or no replay at all");
    }

    void losses(const char* name, const DiffLog& log) {
        const uint64_t until = first_ ? first_->parted_ns() : UINT64_MAX;
        const uint64_t lost = log.survey.lost_until(until);
        uint64_t skipped = 0;
        for (const RunqueueDiff& runqueue : diff_.runqueues)
            skipped += (&log == &a_ ? runqueue.a : runqueue.b).skipped;
        if (lost + skipped == 0) return;
        say(
            fmt::format("!! {}: {} LOST WITHIN WHAT IS COMPARED: a difference may only be one that "
                        "was dropped",
                        name, number_of(std::max(lost, skipped), "RECORD", "RECORDS")));
    }

    void log_line(const char* name, const DiffLog& log) {
        std::string arms;
        for (const auto& [arm, count] : log.survey.arms)
            arms += (arms.empty() ? "" : ", ") + arm_name(log.header, arm);
        say(fmt::format("{}  {}: arm {}, {} in {:.3f} s", name, log.path,
                        arms.empty() ? "unknown" : arms, decisions(log.survey.decisions),
                        static_cast<double>(log.survey.last_ns - log.survey.first_ns) / 1e9));
    }

    void nothing_differs() {
        say(fmt::format("no decision differs: {}", decisions(diff_.common)));
        for (const RunqueueDiff& runqueue : diff_.runqueues) skew(runqueue);
    }

    void headline() {
        say(
            fmt::format("The first decision that differs is number {} of CPU {}'s runqueue; {} in "
                        "common before it there.",
                        first_->common + 1, first_->rq_cpu, first_->common));
        if (first_->parting != Parting::kContent) {
            const bool in_a = first_->parting == Parting::kMissingInA;
            say(fmt::format("{} lacks {} that {} made; the next ones are equal again.",
                            in_a ? "A" : "B", decisions(first_->missing), in_a ? "B" : "A"));
        }
        cause();
    }

    void cause() {
        switch (parting_cause(diff_, *first_)) {
            case PartingCause::kBranch:
                say("Its cause is the arm: a variant's branch was taken in it or right before it.");
                break;
            case PartingCause::kEarlierBranch:
                say("Its cause lies before it: a variant's branch changed what this one finds.");
                break;
            case PartingCause::kSkew:
                say("Its cause is the skew of the clocks, not the arm: no variant's branch was "
                    "taken "
                    "up to it.");
                break;
        }
    }

    void both_sides() {
        const model::Decision& a = *first_->a.decision;
        const model::Decision& b = *first_->b.decision;
        const auto rows = [&](const char* label, const auto& text) {
            out_ += row(label, text(a), text(b));
        };
        out_ += trimmed(fmt::format("  {:<{}}{:<{}} {}", "", kLabel, "A", kColumn, "B"));
        out_ += row("arm", arm_name(a_.header, a.stamp.arm), arm_name(b_.header, b.stamp.arm));
        const auto skew = static_cast<int64_t>(b.stamp.time_ns - a.stamp.time_ns);
        out_ +=
            row("time", seconds(a.stamp.time_ns),
                skew == 0 ? seconds(b.stamp.time_ns)
                          : fmt::format("{} ({})", seconds(b.stamp.time_ns), signed_duration(skew)));
        rows("path", [](const model::Decision& d) { return path_name(d.path); });
        rows("verdict", [](const model::Decision& d) {
            return d.verdict == FSW_VERDICT_PREEMPT ? "PREEMPT" : "KEEP";
        });
        rows("branch", queue_branches);
        out_ += row("variant", taken_text(first_->a.between), taken_text(first_->b.between));
        entity("wakee", &model::Decision::wakee, &model::Decision::wakee_pid);
        entity("curr", &model::Decision::curr, &model::Decision::curr_pid);
        entity("picked", &model::Decision::picked, nullptr);
        rows("queue", [](const model::Decision& d) {
            if (!d.queue) return std::string("-");
            return fmt::format("{} queued, {}, {} dequeued", d.queue->queued,
                               number_of(d.queue->picks, "pick", "picks"),
                               d.queue->delayed_dequeued);
        });
    }

    void entity(const char* label, std::optional<model::Entity> model::Decision::*member,
                uint32_t model::Decision::*pid) {
        const model::Decision& a = *first_->a.decision;
        const model::Decision& b = *first_->b.decision;
        const auto name = [&](const model::Decision& d, const DiffLog& log) {
            if (pid) return who(d.*pid, log);
            if (!(d.*member)) return std::string("nobody");
            return (d.*member)->pid ? who((d.*member)->pid, log)
                                    : fmt::format("group {}", (d.*member)->owned_group_id);
        };
        out_ += row(label, name(a, a_), name(b, b_));
        if (!(a.*member) && !(b.*member)) return;
        out_ += row("", numbers(a, a.*member), numbers(b, b.*member));
        out_ += row("", a.*member ? flags_text((a.*member)->flags) : "",
                    b.*member ? flags_text((b.*member)->flags) : "");
    }

    static std::string who(uint32_t pid, const DiffLog& log) {
        const auto found = log.survey.names.find(pid);
        if (found == log.survey.names.end()) return pid == 0 ? "idle" : fmt::format("pid {}", pid);
        return fmt::format("{}/{}", found->second, pid);
    }

    static std::string numbers(const model::Decision& decision,
                               const std::optional<model::Entity>& entity) {
        if (!entity) return "";
        const uint64_t v = decision.queue ? decision.queue->avg_vruntime_ns : 0;
        return fmt::format("lag {}, slice {}, V{}", signed_duration(entity->lag_ns),
                           duration_text(static_cast<int64_t>(entity->slice_ns)),
                           signed_duration(static_cast<int64_t>(entity->deadline_ns - v)));
    }

    // Whether the arm or only the clock led to it, and how the other runqueues fare.
    void consequences() {
        say("(V+: deadline behind the average; *: differs)\n");
        branches_before("A", first_->a);
        branches_before("B", first_->b);
        skew(*first_);
        size_t told = 0;
        for (const RunqueueDiff& runqueue : diff_.runqueues) {
            if (&runqueue == first_ || told++ >= kMostRunqueues) continue;
            if (runqueue.parting == Parting::kNone)
                say(fmt::format("CPU {}: none of {} differs", runqueue.rq_cpu,
                                decisions(runqueue.common)));
            else
                say(fmt::format("CPU {}: number {} differs, at {}", runqueue.rq_cpu,
                                runqueue.common + 1, seconds(runqueue.parted_ns())));
        }
        if (told > kMostRunqueues) say(fmt::format("... and {} more CPUs", told - kMostRunqueues));
    }

    void branches_before(const char* name, const DiffSide& side) {
        std::string line = fmt::format("Variants' branches taken before it in {}: {}", name,
                                       taken_text(side.before));
        if (side.first_taken) line += fmt::format("; first by decision {}", side.first_taken);
        say(line);
    }

    void skew(const RunqueueDiff& runqueue) {
        const Skew& skew = runqueue.skew;
        if (skew.points.empty()) return;
        std::string line = fmt::format("Skew of the clocks on CPU {} (B - A):", runqueue.rq_cpu);
        if (skew.changes == 0) {
            say(fmt::format("{} {} throughout", line, signed_duration(skew.last_ns)));
            return;
        }
        for (const Skew::Point& point : skew.points)
            line += fmt::format(" {} at {},", signed_duration(point.ns), point.number);
        line += fmt::format(" {} at {}", signed_duration(skew.last_ns), runqueue.common);
        say_wrapped(line);
        say(fmt::format("  it changed {} times, first at decision {}, by {}", skew.changes,
                        skew.first_change, signed_duration(skew.first_step_ns)));
    }

    // The recordings needn't begin and end at the same decision.
    void ends() {
        for (const RunqueueDiff& runqueue : diff_.runqueues)
            for (const auto& [name, side] : {std::pair{"A", &runqueue.a}, {"B", &runqueue.b}}) {
                if (side->head_start)
                    say(fmt::format("CPU {}: {} began {} earlier", runqueue.rq_cpu, name,
                                    decisions(side->head_start)));
                if (side->more)
                    say(fmt::format("CPU {}: {} goes on for {}", runqueue.rq_cpu, name,
                                    decisions(side->more)));
            }
    }

    void paths() {
        say(fmt::format("\n{:<20}{:>12}{:>12}{:>12}", "Decisions by path", "in common", "then A",
                        "then B"));
        for (size_t path = 0; path < diff_.common_paths.size(); ++path) {
            const uint64_t common = diff_.common_paths[path];
            const uint64_t a = a_.survey.paths[path], b = b_.survey.paths[path];
            if (a + b)
                say(fmt::format("  {:<18}{:>12}{:>12}{:>12}", path_name(path), common,
                                a - std::min(a, common), b - std::min(b, common)));
        }
        say(fmt::format("  {:<18}{:>12}{:>12}{:>12}", "all", diff_.common,
                        a_.survey.decisions - diff_.common, b_.survey.decisions - diff_.common));
    }

    void first_late() {
        if (!a_.survey.watched && !b_.survey.watched) {
            say("No thread was watched, so no latencies are known (record --watch).");
            return;
        }
        const uint64_t from = first_ ? first_->parted_ns() : 0;
        say(fmt::format("First wakeup later than {}{}:", duration_text(late_ns_),
                        first_ ? ", from there on" : ""));
        for (const auto& [name, log] : {std::pair{"A", &a_}, {"B", &b_}}) {
            const Survey& s = log->survey;
            const LateWakeup* late = s.first_late(from);
            const std::string told =
                late ? fmt::format("{} at {}, {} late", who(late->pid, *log),
                                   seconds(late->expected_ns), duration_text(late->latency_ns))
                     : "none";
            say(fmt::format("  {}: {} (of all {} wakeups, {} are)", name, told, s.wakeups, s.late));
        }
    }

    const DiffLog& a_;
    const DiffLog& b_;
    const Diff& diff_;
    const int64_t late_ns_;
    const std::vector<std::string>& forced_;
    const RunqueueDiff* first_;
    std::string out_;
};

}  // namespace

bool DiffLog::broken() const { return !breaking(validity).empty(); }

SamePids same_pids(const Survey& a, const Survey& b) {
    uint64_t shared = 0;
    for (const uint32_t pid : a.pids) shared += b.pids.contains(pid);
    if (shared == a.pids.size() && shared == b.pids.size()) return SamePids::kAll;
    return shared ? SamePids::kSome : SamePids::kNone;
}

std::string diff_text(const DiffLog& a, const DiffLog& b, const Diff& diff, int64_t late_ns,
                      const std::vector<std::string>& forced) {
    return Screen(a, b, diff, late_ns, forced).text();
}

}  // namespace fairswitch
