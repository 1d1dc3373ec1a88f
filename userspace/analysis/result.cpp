#include "userspace/analysis/result.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>

#include "userspace/analysis/branches.h"
#include "userspace/analysis/cell_text.h"
#include "userspace/base/wrap.h"

namespace fairswitch {
namespace {

const char* verdict_text(const Comparison& comparison) {
    if (comparison.verdict == Verdict3::kDifferent) return "different";
    return comparison.verdict == Verdict3::kSame ? "not significant" : "no verdict";
}

class Maker {
  public:
    Maker(const Table& table, const std::string& title) : table_(table) {
        result_.set_title(title);
    }

    Result make() {
        for (const std::string& warning : table_.warnings) result_.add_warnings(warning);
        for (const std::string& note : table_.notes) result_.add_notes(note);
        result_.set_pairs(static_cast<uint32_t>(table_.pairs));
        result_.set_records_lost(table_.records_lost);
        result_.set_load(table_.load);
        result_.set_alpha(table_.alpha);
        for (const ArmColumn& column : table_.columns) add_arm(column);
        for (size_t m = 0; m < all_metrics().size(); ++m)
            for (size_t c = 0; c < table_.columns.size(); ++c) add_metric(m, c);
        if (has_omitted())
            for (const ArmColumn& column : table_.columns) add_omitted(column);
        for (const ArmColumn& column : table_.columns) add_clusters(column);
        for (const ArmColumn& column : table_.columns) add_counts(column);
        return std::move(result_);
    }

  private:
    void add_arm(const ArmColumn& column) {
        ResultArm& arm = *result_.add_arms();
        arm.set_id(column.arm);
        arm.set_name(column.name);
        arm.set_blocks(static_cast<uint32_t>(column.blocks));
        arm.set_seconds(column.counts.seconds);
        arm.set_samples(column.sorted.size());
        arm.set_expected(column.expected);
        arm.set_missed(column.missed);
    }

    ResultCell& add_cell(const ArmColumn& column, const std::string& row, const char* unit) {
        ResultCell& cell = *result_.add_cells();
        cell.set_arm(column.arm);
        cell.set_row(row);
        cell.set_unit(unit);
        return cell;
    }

    void add_metric(size_t index, size_t c) {
        const Metric metric = all_metrics()[index];
        const ArmColumn& column = table_.columns[c];
        ResultCell& cell =
            add_cell(column, metric_row(metric), metric_is_share(metric) ? "%" : "us");
        const double value = metric_value(column.sorted, metric);
        if (!column.sorted.empty())
            cell.set_value(metric_is_share(metric) ? 100 * value : value / 1000);
        if (c == 0 || table_.comparisons.size() < c) return;
        const Comparison& comparison = table_.comparisons[c - 1][index];
        if (comparison.percent) cell.set_percent(*comparison.percent);
        if (comparison.p) cell.set_p_adjusted(comparison.p_adjusted);
        cell.set_verdict(verdict_text(comparison));
        if (!comparison.interval) return;
        cell.set_percent_low(comparison.interval->low);
        cell.set_percent_high(comparison.interval->high);
    }

    bool has_omitted() const {
        return std::any_of(table_.columns.begin(), table_.columns.end(), [](const ArmColumn& c) {
            return c.omitted_added || c.omitted_unplaced;
        });
    }

    // The tail with what a client would have waited at the periods that were skipped.
    void add_omitted(const ArmColumn& column) {
        for (const Metric metric : {Metric::kP99, Metric::kP999}) {
            ResultCell& cell =
                add_cell(column, fmt::format("{} + skipped", metric_row(metric)), "us");
            if (!column.with_omitted.empty())
                cell.set_value(metric_value(column.with_omitted, metric) / 1000);
        }
        add_cell(column, "Skipped, added", "").set_value(static_cast<double>(column.omitted_added));
        add_cell(column, "Skipped, wait unknown", "")
            .set_value(static_cast<double>(column.omitted_unplaced));
    }

    // How many independent events the late samples stand for.
    void add_clusters(const ArmColumn& column) {
        for (const auto& [metric, clusters] : column.clusters) {
            const std::string row = metric_row(metric);
            add_cell(column,
                     metric_quantile(metric) ? "Clusters from " + row + " up"
                                             : "Clusters above" + row.substr(row.find(' ')),
                     "")
                .set_value(std::round(clusters.effective * 10) / 10);
        }
    }

    void add_counts(const ArmColumn& column) {
        const ArmCounts& counts = column.counts;
        ResultCell& rate = add_cell(column, "Decisions per second", "1/s");
        if (counts.seconds > 0) rate.set_value(counts.decisions / counts.seconds);
        ResultCell& preempt = add_cell(column, "Preempt", "%");
        if (counts.decisions)
            preempt.set_value(100.0 * static_cast<double>(counts.preempts) / counts.decisions);
        const auto count = [&](const std::string& row, uint64_t value) {
            add_cell(column, row, "").set_value(static_cast<double>(value));
        };
        count("Pick delayed", counts.delayed_picked);
        for (const VariantBranch& branch : variant_branches()) {
            const auto found = counts.taken.find(branch.id);
            if (!table_.variants.empty() &&
                std::find(table_.variants.begin(), table_.variants.end(), branch.id) ==
                    table_.variants.end())
                continue;
            count(branch.label, found == counts.taken.end() ? 0 : found->second);
        }
        count("Requeues of delayed", counts.requeues);
        count("Delayed in another arm", counts.carried_over);
        ResultCell& switches = add_cell(column, "Context switches", "1/s");
        if (column.switches_per_second) switches.set_value(*column.switches_per_second);
    }

    const Table& table_;
    Result result_;
};

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
}

std::string number(bool present, double value) {
    return present ? fmt::format("{:.6g}", value) : "";
}

// For a mail: at most three significant places, no exponent.
std::string short_number(const ResultCell& cell) {
    if (!cell.has_value()) return "-";
    const double value = cell.value();
    if (cell.unit() == "%") return fmt::format("{:.2f}", value);
    if (std::fabs(value) < 100 && value != std::floor(value)) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

class Markdown {
  public:
    explicit Markdown(const Result& result) : result_(result) {}

    std::string render() {
        if (!result_.title().empty()) paragraph(result_.title());
        for (const std::string& warning : result_.warnings()) paragraph("**" + warning + "**");
        // The first arm stands in each table; two more fit beside it.
        constexpr int kBeside = 2;
        for (int next = 1; next == 1 || next < result_.arms_size(); next += kBeside)
            table(next, std::min(next + kBeside, result_.arms_size()));
        paragraph(fmt::format(
            "Difference from {} in percent, negative is smaller; ~ not significant at {:.2g} % over "
            "all rows and arms (randomisation test, {} pairs of blocks), ? no verdict. Records "
            "lost: {}.",
            result_.arms_size() ? result_.arms(0).name() : "the first arm", 100 * result_.alpha(),
            result_.pairs(), result_.records_lost()));
        intervals();
        for (const std::string& note : result_.notes())
            out_ += "Note: " + wrapped(note, 6, kMailColumns) + "\n";
        return out_;
    }

  private:
    void paragraph(const std::string& text) { out_ += wrapped(text, 0, kMailColumns) + "\n\n"; }

    void intervals() {
        for (const ResultArm& arm : result_.arms()) {
            std::string list;
            for (const ResultCell& cell : result_.cells())
                if (cell.arm() == arm.id() && cell.has_percent_low())
                    list += fmt::format("{}{} {:+.0f} .. {:+.0f} %", list.empty() ? "" : ", ",
                                        cell.row(), cell.percent_low(), cell.percent_high());
            if (!list.empty()) paragraph("95 % intervals of " + arm.name() + ": " + list + ".");
        }
    }

    static constexpr int kLabel = 26;
    static constexpr int kFirst = 10;
    static constexpr int kOther = 15;

    void table(int begin, int end) {
        std::vector<int> shown = {0};
        for (int i = begin; i < end; ++i) shown.push_back(i);
        line("", shown, [&](int arm) { return result_.arms(arm).name(); });
        out_ += "|" + std::string(kLabel + 2, '-') + "|" + std::string(kFirst + 1, '-') + ":|";
        for (size_t i = 1; i < shown.size(); ++i) out_ += std::string(kOther + 1, '-') + ":|";
        out_ += "\n";
        line("Samples", shown, [&](int arm) { return std::to_string(result_.arms(arm).samples()); });
        line("Expected", shown,
             [&](int arm) { return std::to_string(result_.arms(arm).expected()); });
        for (const Row& row : rows())
            line(row.unit.empty() ? row.name : fmt::format("{} ({})", row.name, row.unit), shown,
                 [&](int arm) { return cell_text(arm, row.name); });
        out_ += "\n";
    }

    template <typename Text>
    void line(const std::string& label, const std::vector<int>& arms, Text text) {
        out_ += fmt::format("| {:<{}} |", cut(label, kLabel), kLabel);
        for (const int arm : arms) {
            const int width = arm == 0 ? kFirst : kOther;
            out_ += fmt::format(" {:>{}} |", cut(text(arm), static_cast<size_t>(width)), width);
        }
        out_ += "\n";
    }

    struct Row {
        std::string name;
        std::string unit;
    };

    // In the order of the first arm's cells.
    std::vector<Row> rows() const {
        std::vector<Row> rows;
        for (const ResultCell& cell : result_.cells())
            if (cell.arm() == result_.arms(0).id()) rows.push_back({cell.row(), cell.unit()});
        return rows;
    }

    std::string cell_text(int arm, const std::string& row) const {
        for (const ResultCell& cell : result_.cells()) {
            if (cell.arm() != result_.arms(arm).id() || cell.row() != row) continue;
            std::string text = short_number(cell);
            if (cell.verdict().empty()) return text;
            text += cell.has_percent() ? fmt::format(" ({:+.0f} %)", cell.percent()) : " (n/a)";
            return text + (cell.verdict() == "different"         ? " "
                           : cell.verdict() == "not significant" ? "~"
                                                                 : "?");
        }
        return "-";
    }

    const Result& result_;
    std::string out_;
};

}  // namespace

Result make_result(const Table& table, const std::string& title) {
    return Maker(table, title).make();
}

std::string render_json(const Result& result) {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.preserve_proto_field_names = true;
    std::string text;
    // Fails only for messages of unknown type, which this isn't.
    (void)google::protobuf::util::MessageToJsonString(result, &text, options);
    return text;
}

std::string render_csv(const Result& result) {
    std::string out =
        "arm,row,unit,value,percent,p_adjusted,verdict,percent_low,percent_high\n";
    for (const ResultCell& cell : result.cells()) {
        std::string name;
        for (const ResultArm& arm : result.arms())
            if (arm.id() == cell.arm()) name = arm.name();
        out += fmt::format(
            "{},{},{},{},{},{},{},{},{}\n", quoted(name), quoted(cell.row()), cell.unit(),
            number(cell.has_value(), cell.value()), number(cell.has_percent(), cell.percent()),
            number(cell.has_p_adjusted(), cell.p_adjusted()), cell.verdict(),
            number(cell.has_percent_low(), cell.percent_low()),
            number(cell.has_percent_high(), cell.percent_high()));
    }
    for (const std::string& warning : result.warnings())
        out += fmt::format("warning,{},,,,,,,\n", quoted(warning));
    for (const std::string& note : result.notes())
        out += fmt::format("note,{},,,,,,,\n", quoted(note));
    return out;
}

std::string render_markdown(const Result& result) { return Markdown(result).render(); }

}  // namespace fairswitch
