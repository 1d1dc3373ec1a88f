#include <fmt/format.h>

#include <algorithm>

#include "userspace/analysis/branches.h"
#include "userspace/analysis/cell_text.h"
#include "userspace/analysis/explain.h"
#include "userspace/analysis/table.h"
#include "userspace/base/wrap.h"

namespace fairswitch {
namespace {

constexpr int kLabelWidth = 27;
constexpr int kFirstWidth = 14;
constexpr int kOtherWidth = 22;
// With a fourth arm these would pass the screen's edge.
constexpr size_t kWideColumns = 3;
constexpr int kNarrower = 2;

class Text {
  public:
    explicit Text(const Table& table) : table_(table) {}

    std::string render() {
        for (const std::string& warning : table_.warnings) line("!! " + wrapped(warning, 3));
        if (!table_.warnings.empty()) line("");
        if (no_samples()) {
            line("No block was completed with a sample in it: nothing to compare.");
            footnotes();
            return out_;
        }
        header();
        samples();
        for (size_t i = 0; i < all_metrics().size(); ++i) metric(i);
        omitted();
        line("");
        legend();
        line("");
        branches();
        branch_legend();
        line("");
        causes();
        line("");
        footnotes();
        return out_;
    }

  private:
    void line(const std::string& text) {
        size_t end = text.find_last_not_of(' ');
        out_ += text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
    }

    int width(size_t column) const {
        const int wide = column == 0 ? kFirstWidth : kOtherWidth;
        return table_.columns.size() > kWideColumns ? wide - kNarrower : wide;
    }

    bool no_samples() const {
        return std::all_of(table_.columns.begin(), table_.columns.end(),
                           [](const ArmColumn& column) { return column.sorted.empty(); });
    }

    void header() {
        std::string row = fmt::format("{:<{}}", "", kLabelWidth);
        for (size_t c = 0; c < table_.columns.size(); ++c)
            row += fmt::format("{:>{}}", cut(table_.columns[c].name, width(c) - 1), width(c));
        line(row);
    }

    // A row of plain values, without differences.
    template <typename Value>
    void row(const std::string& label, Value value) {
        std::string text = fmt::format("{:<{}}", label, kLabelWidth);
        for (size_t c = 0; c < table_.columns.size(); ++c) {
            // Aligned with the numbers above, whose difference stands behind them.
            std::string cell = value(table_.columns[c]);
            text += fmt::format("{:>{}}", cell, c == 0 ? width(c) : width(c) - 11);
            if (c != 0) text += std::string(11, ' ');
        }
        line(text);
    }

    void samples() {
        row("Total Samples", [](const ArmColumn& c) { return fmt::format("{}", c.sorted.size()); });
        row("Expected Samples", [](const ArmColumn& c) { return fmt::format("{}", c.expected); });
        row("Missed Periods", [](const ArmColumn& c) { return fmt::format("{}", c.missed); });
    }

    void metric(size_t index) {
        const Metric metric = all_metrics()[index];
        std::string text = fmt::format("{:<{}}", metric_label(metric), kLabelWidth);
        for (size_t c = 0; c < table_.columns.size(); ++c) {
            std::string value = value_text(metric, metric_value(table_.columns[c].sorted, metric));
            if (c == 0) {
                text += fmt::format("{:>{}}", value, width(c));
                continue;
            }
            std::string difference = difference_text(table_.comparisons[c - 1][index]);
            text += fmt::format("{:>{}} {:>10}", value, width(c) - 11, difference);
        }
        line(text);
    }

    void full_names() {
        for (size_t c = 0; c < table_.columns.size(); ++c)
            if (table_.columns[c].name.size() >= static_cast<size_t>(width(c)))
                line(fmt::format(" column {}: {}", c + 1, table_.columns[c].name));
    }

    void legend() {
        full_names();
        if (table_.columns.size() < 2) return;
        line(
            fmt::format("(difference from {} in percent, negative = smaller; ~ = not significant "
                        "at {:.2g} %",
                        cut(table_.columns[0].name, 20), 100 * table_.alpha));
        line(fmt::format(" over all rows and arms, randomisation test over {} pairs of blocks)",
                         table_.pairs));
        line(" ? = no verdict: the Maximum is a single sample and never tested");
        if (table_.pairs < kMinPairs)
            line(fmt::format(" ? = no verdict: fewer than {} pairs", kMinPairs));
        else if (has_no_verdict())
            line(
                fmt::format(" ? = no verdict: too few pairs for a table of so many rows and arms"));
        intervals();
    }

    bool has_no_verdict() const {
        for (const auto& arm : table_.comparisons)
            for (const Comparison& c : arm)
                if (c.metric != Metric::kMaximum && c.verdict == Verdict3::kNone) return true;
        return false;
    }

    void intervals() {
        for (size_t a = 0; a < table_.comparisons.size(); ++a) {
            std::string given;
            for (const Comparison& c : table_.comparisons[a])
                if (c.interval)
                    given += fmt::format("\n   {} {:+.0f} .. {:+.0f} %", metric_label(c.metric),
                                         c.interval->low, c.interval->high);
            const std::string name = cut(table_.columns[a + 1].name, 40);
            if (given.empty())
                line(
                    fmt::format(" {}: no interval (needs 20 blocks per arm, 50 samples beyond a "
                                "point, no cliff)",
                                name));
            else
                line(fmt::format(" {}: 95 % intervals of the difference, others: no interval{}",
                                 name, given));
        }
    }

    static std::string share(uint64_t part, uint64_t whole) {
        if (whole == 0) return "-";
        return fmt::format("{:.2f} %", 100.0 * static_cast<double>(part) / whole);
    }

    static std::string rate(uint64_t count, double seconds) {
        return seconds > 0 ? fmt::format("{:.0f}", count / seconds) : "-";
    }

    // A count that Briefs don't tell is no zero.
    static std::string told(const ArmColumn& column, uint64_t count) {
        return column.counts.briefs ? "-" : fmt::format("{}", count);
    }

    void branches() {
        row("Decisions per second",
            [](const ArmColumn& c) { return rate(c.counts.decisions, c.counts.seconds); });
        row("  preempt",
            [](const ArmColumn& c) { return share(c.counts.preempts, c.counts.decisions); });
        row("  pick delayed",
            [](const ArmColumn& c) { return told(c, c.counts.delayed_picked); });
        variants();
        row("Requeues of delayed", [](const ArmColumn& c) { return told(c, c.counts.requeues); });
        row("  with a stale clock",
            [](const ArmColumn& c) { return told(c, c.counts.stale_clocks); });
        row("Delayed in another arm",
            [](const ArmColumn& c) { return told(c, c.counts.carried_over); });
        row("Context switches/s", [](const ArmColumn& c) {
            return c.switches_per_second ? fmt::format("{:.0f}", *c.switches_per_second) : "-";
        });
        row("Blocks, measured seconds", [](const ArmColumn& c) {
            return fmt::format("{}, {:.1f}", c.blocks, c.counts.seconds);
        });
    }

    bool knows(const std::string& variant) const {
        const auto& known = table_.variants;
        return known.empty() || std::find(known.begin(), known.end(), variant) != known.end();
    }

    void variants() {
        for (const VariantBranch& branch : variant_branches()) {
            if (!knows(branch.id)) continue;
            row(branch.label, [&](const ArmColumn& c) {
                auto found = c.counts.taken.find(branch.id);
                const uint64_t taken = found == c.counts.taken.end() ? 0 : found->second;
                return branch.brief_tells ? fmt::format("{}", taken) : told(c, taken);
            });
        }
    }

    bool has_briefs() const {
        return std::any_of(table_.columns.begin(), table_.columns.end(),
                           [](const ArmColumn& column) { return column.counts.briefs > 0; });
    }

    void branch_legend() {
        if (has_briefs()) line("(- = not told by records at detail `brief`)");
        line(
            "(pick delayed: the check's pick sleeps and only waits to be dequeued; stale clock: "
            "the");
        line(" running entity's, when the lag was computed; delayed in another arm: went to sleep");
        line(" under one arm, woke or left under this one)");
    }

    void causes() {
        line("Samples above 1 ms, by the longest part of their latency:");
        bool any = false;
        for (size_t cause = 0; cause < static_cast<size_t>(Cause::kCount); ++cause) {
            uint64_t sum = 0;
            std::string counts;
            for (const ArmColumn& column : table_.columns) {
                uint64_t n = cause < column.late_causes.size() ? column.late_causes[cause] : 0;
                sum += n;
                counts += fmt::format("{:>7}", n);
            }
            if (sum == 0) continue;
            any = true;
            line(fmt::format("  {}  {}", counts, cause_text(static_cast<Cause>(cause))));
        }
        if (!any) line("  none");
        if (any) clusters();
    }

    // The tail as a client would see it that asks at every period. Only where periods were skipped.
    void omitted() {
        const auto& columns = table_.columns;
        if (std::none_of(columns.begin(), columns.end(), [](const ArmColumn& c) {
                return c.omitted_added || c.omitted_unplaced;
            }))
            return;
        for (Metric metric : {Metric::kP99, Metric::kP999})
            row(fmt::format("{} + skipped (us)", metric_name(metric)), [&](const ArmColumn& c) {
                return c.with_omitted.empty()
                           ? std::string("-")
                           : value_text(metric, metric_value(c.with_omitted, metric));
            });
        row("  periods added",
            [](const ArmColumn& c) { return fmt::format("{}", c.omitted_added); });
        row("  of unknown wait, left out",
            [](const ArmColumn& c) { return fmt::format("{}", c.omitted_unplaced); });
    }

    // Late wakeups come together: how many independent ones there are, about.
    void clusters() {
        line("Effective number of clusters of late samples:");
        for (Metric metric : {Metric::kP99, Metric::kP999, Metric::kOver1ms}) {
            std::string counts;
            for (const ArmColumn& column : table_.columns) {
                const auto found = column.clusters.find(metric);
                counts += fmt::format(
                    "{:>7.0f}", found == column.clusters.end() ? 0.0 : found->second.effective);
            }
            line(fmt::format("  {}  {}", counts,
                             metric_quantile(metric)
                                 ? fmt::format("from {} up", metric_name(metric))
                                 : "above 1 ms"));
        }
    }

    void footnotes() {
        line(fmt::format("Records lost: {}", table_.records_lost));
        if (table_.swaps.swaps)
            line(fmt::format(
                "Swaps: {}, first to last CPU {} (median) {} (longest), {} delayed "
                "tasks in flight",
                table_.swaps.swaps, duration_text(static_cast<int64_t>(table_.swaps.median_ns)),
                duration_text(static_cast<int64_t>(table_.swaps.longest_ns)),
                table_.swaps.delayed_in_flight));
        if (!table_.load.empty()) line("Load: " + wrapped(table_.load, 6));
        leftovers();
        for (const std::string& note : table_.notes) line("Note: " + wrapped(note, 6));
    }

    void leftovers() {
        const Join& join = *table_.join;
        line(fmt::format("Samples{}:", join.from_records
                                           ? " (no cyclictest output: from records, expected to "
                                             "switched in)"
                                           : " and wakeups"));
        for (size_t f = 0; f < static_cast<size_t>(Fate::kCount); ++f) {
            auto fate = static_cast<Fate>(f);
            if (join.count(fate) || fate == Fate::kUsed)
                line(fmt::format("  {:>7}  {}", join.count(fate), fate_text(fate)));
        }
        if (join.realigned)
            line(fmt::format("  {:>7}  realignments of samples and wakeups", join.realigned));
    }

    const Table& table_;
    std::string out_;
};

}  // namespace

std::string render_text(const Table& table) { return Text(table).render(); }

}  // namespace fairswitch
