#include <gtest/gtest.h>

#include "userspace/analysis/published.h"

namespace fairswitch {
namespace {

Comparison found(Metric metric, double percent, Verdict3 verdict) {
    Comparison comparison;
    comparison.metric = metric;
    comparison.percent = percent;
    comparison.verdict = verdict;
    return comparison;
}

TEST(Published, AgreementIsOfDirections) {
    const Comparison fell = found(Metric::kP999, -40, Verdict3::kDifferent);
    EXPECT_EQ(agreement(-68, fell), Agreement::kAgrees);
    EXPECT_EQ(agreement(+30, fell), Agreement::kDisagrees);
    EXPECT_EQ(agreement(-1.9, fell), Agreement::kNothingTold);
    EXPECT_EQ(agreement(-68, found(Metric::kP999, -40, Verdict3::kSame)), Agreement::kNotSeen);
    EXPECT_EQ(agreement(-68, found(Metric::kP999, -40, Verdict3::kNone)), Agreement::kNotSeen);
    EXPECT_EQ(agreement(-68, found(Metric::kMaximum, -40, Verdict3::kDifferent)),
              Agreement::kNothingTold)
        << "the maximum is never tested";
}

Table two_arms() {
    Table table;
    table.columns.resize(2);
    table.columns[0].name = "without";
    table.columns[1].name = "with";
    std::vector<Comparison> row;
    for (const Metric metric : all_metrics())
        row.push_back(found(metric, metric == Metric::kP999 ? -52 : 1,
                            metric == Metric::kP999 ? Verdict3::kDifferent : Verdict3::kSame));
    table.comparisons.push_back(row);
    return table;
}

Plan posted(const char* base, const char* arm) {
    Plan plan;
    Published* published = plan.add_published();
    published->set_source("somebody");
    published->set_base(base);
    published->set_arm(arm);
    const auto add = [&](const char* row, double base_us, double arm_us) {
        PublishedFigure* figure = published->add_figures();
        figure->set_row(row);
        figure->set_base_us(base_us);
        figure->set_arm_us(arm_us);
    };
    add("P50", 57, 58);
    add("P99", 67, 67);
    add("P99.9", 2288, 727);
    add("P75", 60, 59);
    return plan;
}

TEST(Published, StandsBesideWhatWasFound) {
    EXPECT_EQ(published_text(two_arms(), posted("without", "with")),
              "\nPosted by somebody, with against without, and here:\n"
              "                  us    us        posted        here\n"
              "  P50             57 -> 58          +2 %        +1 %   -\n"
              "  P99             67 -> 67          +0 %        +1 %   -\n"
              "  P99.9         2288 -> 727        -68 %       -52 %   agrees\n"
              "  P75             60 -> 59          -2 %   no such row here\n");
}

TEST(Published, OtherArmsAreNotCompared) {
    EXPECT_NE(published_text(two_arms(), posted("with", "without")).find("not comparable"),
              std::string::npos);
    EXPECT_EQ(published_text(two_arms(), Plan{}), "");
}

}  // namespace
}  // namespace fairswitch
