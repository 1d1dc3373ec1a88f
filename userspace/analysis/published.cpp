#include "userspace/analysis/published.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace fairswitch {
namespace {

// Below this a posted figure says "the same".
constexpr double kMoved_percent = 2;

std::optional<size_t> index_of(const std::string& row) {
    for (size_t i = 0; i < all_metrics().size(); ++i)
        if (row == metric_row(all_metrics()[i])) return i;
    return std::nullopt;
}

std::optional<size_t> column_of(const Table& table, const std::string& name) {
    for (size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].name == name) return i;
    return std::nullopt;
}

const char* text_of(Agreement agreement) {
    switch (agreement) {
        case Agreement::kAgrees:
            return "agrees";
        case Agreement::kDisagrees:
            return "DISAGREES";
        case Agreement::kNotSeen:
            return "no difference seen here";
        case Agreement::kNothingTold:
            break;
    }
    return "-";
}

std::string line(const Table& table, const PublishedFigure& figure, size_t column) {
    if (figure.base_us() == 0)
        return fmt::format("  {:<10} posted without a base: not compared\n", figure.row());
    const double theirs = 100 * (figure.arm_us() - figure.base_us()) / figure.base_us();
    std::string text = fmt::format("  {:<10}{:>8.0f} -> {:<8.0f}{:>+6.0f} %", figure.row(),
                                   figure.base_us(), figure.arm_us(), theirs);
    const auto index = index_of(figure.row());
    if (!index || table.comparisons.size() < column) return text + "   no such row here\n";
    const Comparison& here = table.comparisons[column - 1][*index];
    const std::string ours = here.percent ? fmt::format("{:+.0f} %", *here.percent) : "n/a";
    return text + fmt::format("{:>12}   {}\n", ours, text_of(agreement(theirs, here)));
}

}  // namespace

Agreement agreement(double published_percent, const Comparison& here) {
    if (std::fabs(published_percent) < kMoved_percent || here.metric == Metric::kMaximum)
        return Agreement::kNothingTold;
    if (here.verdict != Verdict3::kDifferent || !here.percent) return Agreement::kNotSeen;
    return (published_percent < 0) == (*here.percent < 0) ? Agreement::kAgrees
                                                          : Agreement::kDisagrees;
}

std::string published_text(const Table& table, const Plan& plan) {
    std::string out;
    for (const Published& published : plan.published()) {
        out += fmt::format("\nPosted by {}, {} against {}, and here:\n", published.source(),
                           published.arm(), published.base());
        const auto column = column_of(table, published.arm());
        const auto base = column_of(table, published.base());
        if (!column || !base || *base != 0 || *column == 0) {
            out += "  not comparable: the plan's first arm must be their base, and both be run\n";
            continue;
        }
        out += fmt::format("  {:<10}{:>8}    {:<8}{:>8}{:>12}\n", "", "us", "us", "posted", "here");
        for (const PublishedFigure& figure : published.figures())
            out += line(table, figure, *column);
    }
    return out;
}

}  // namespace fairswitch
