#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <sstream>

#include "userspace/analysis/result.h"

namespace fairswitch {
namespace {

ArmColumn column(uint32_t id, const char* name, std::vector<int64_t> latencies) {
    ArmColumn column;
    column.arm = id;
    column.name = name;
    column.sorted = std::move(latencies);
    column.blocks = 10;
    column.expected = 5;
    column.missed = 1;
    column.counts.seconds = 2;
    column.counts.decisions = 400;
    column.counts.preempts = 100;
    column.counts.taken["dequeue-delayed"] = 7 * id;
    return column;
}

Table table_of(size_t arms) {
    Table table;
    table.pairs = 10;
    table.warnings = {"a \"warning\", quoted"};
    table.notes = {"a note"};
    table.variants = {"dequeue-delayed"};
    const char* names[] = {"stock", "stock (2)", "dequeue-delayed", "lag-clamp"};
    for (size_t i = 0; i < arms; ++i)
        table.columns.push_back(column(static_cast<uint32_t>(i), names[i],
                                       {50'000, 60'000, 70'000, static_cast<int64_t>(80'000 + i)}));
    for (size_t i = 1; i < arms; ++i) {
        std::vector<Comparison> row;
        for (const Metric metric : all_metrics()) {
            Comparison comparison;
            comparison.metric = metric;
            comparison.percent = -12.25;
            comparison.p = 0.001;
            comparison.p_adjusted = 0.03;
            comparison.verdict = metric == Metric::kP99 ? Verdict3::kDifferent : Verdict3::kSame;
            if (metric == Metric::kAverage) comparison.interval = Interval{-20, -5};
            row.push_back(comparison);
        }
        table.comparisons.push_back(row);
    }
    return table;
}

const ResultCell* cell(const Result& result, uint32_t arm, const std::string& row) {
    for (const ResultCell& cell : result.cells())
        if (cell.arm() == arm && cell.row() == row) return &cell;
    return nullptr;
}

TEST(Result, HoldsTheTable) {
    const Result result = make_result(table_of(2), "title");
    EXPECT_EQ(result.title(), "title");
    ASSERT_EQ(result.arms_size(), 2);
    EXPECT_EQ(result.arms(1).name(), "stock (2)");
    EXPECT_EQ(result.arms(1).samples(), 4u);
    EXPECT_EQ(result.arms(1).missed(), 1u);
    const ResultCell* average = cell(result, 1, "Average");
    ASSERT_NE(average, nullptr);
    EXPECT_EQ(average->unit(), "us");
    EXPECT_DOUBLE_EQ(average->value(), 65.00025);
    EXPECT_DOUBLE_EQ(average->percent(), -12.25);
    EXPECT_DOUBLE_EQ(average->p_adjusted(), 0.03);
    EXPECT_EQ(average->verdict(), "not significant");
    EXPECT_DOUBLE_EQ(average->percent_low(), -20);
    EXPECT_DOUBLE_EQ(average->percent_high(), -5);
    EXPECT_EQ(cell(result, 1, "P99")->verdict(), "different");
    EXPECT_FALSE(cell(result, 1, "P99")->has_percent_low());
    EXPECT_TRUE(cell(result, 0, "Average")->verdict().empty()) << "the first is the base";
    EXPECT_DOUBLE_EQ(cell(result, 0, "Decisions per second")->value(), 200);
    EXPECT_DOUBLE_EQ(cell(result, 0, "Preempt")->value(), 25);
    EXPECT_DOUBLE_EQ(cell(result, 1, "dequeue-delayed taken")->value(), 7);
    EXPECT_FALSE(cell(result, 0, "Context switches")->has_value());
}

TEST(Result, JsonIsTheMessage) {
    const Result result = make_result(table_of(3), "title");
    Result back;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(render_json(result), &back).ok());
    EXPECT_EQ(back.SerializeAsString(), result.SerializeAsString());
}

TEST(Result, CsvHasALineForEachCell) {
    const Result result = make_result(table_of(2), "");
    const std::string csv = render_csv(result);
    EXPECT_EQ(csv.substr(0, csv.find('\n')),
              "arm,row,unit,value,percent,p_adjusted,verdict,percent_low,percent_high");
    EXPECT_NE(csv.find("\nstock (2),Average,us,65.0002,-12.25,0.03,not significant,-20,-5\n"),
              std::string::npos)
        << csv;
    EXPECT_NE(csv.find("\nstock,Context switches,1/s,,,,,,\n"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nwarning,\"a \"\"warning\"\", quoted\",,,,,,,\n"), std::string::npos) << csv;
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + result.cells_size() + 2);
    std::istringstream lines(csv);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("warning")) continue;  // it has quoted commas
        EXPECT_EQ(std::count(line.begin(), line.end(), ','), 8) << line;
    }
}

TEST(Result, OmittedPeriodsAndClustersAreRows) {
    Table table = table_of(2);
    EXPECT_EQ(cell(make_result(table, ""), 0, "P99 + skipped"), nullptr) << "nothing was skipped";
    table.columns[1].with_omitted = {50'000, 90'000};
    table.columns[1].omitted_added = 3;
    table.columns[1].omitted_unplaced = 1;
    table.columns[1].clusters[Metric::kP99] = {5, 2.26};
    table.columns[1].clusters[Metric::kOver1ms] = {7, 3};
    const Result result = make_result(table, "");
    EXPECT_FALSE(cell(result, 0, "P99 + skipped")->has_value()) << "not known";
    EXPECT_DOUBLE_EQ(cell(result, 1, "P99 + skipped")->value(), 90);
    EXPECT_DOUBLE_EQ(cell(result, 1, "P99.9 + skipped")->value(), 90);
    EXPECT_DOUBLE_EQ(cell(result, 1, "Skipped, added")->value(), 3);
    EXPECT_DOUBLE_EQ(cell(result, 1, "Skipped, wait unknown")->value(), 1);
    EXPECT_DOUBLE_EQ(cell(result, 1, "Clusters from P99 up")->value(), 2.3);
    EXPECT_DOUBLE_EQ(cell(result, 1, "Clusters above 1 ms")->value(), 3);
    const std::string csv = render_csv(result), mail = render_markdown(result);
    EXPECT_NE(csv.find("\nstock (2),\"Skipped, added\",,3,"), std::string::npos) << csv;
    EXPECT_NE(mail.find("| P99 + skipped (us)         |          - |              90 |\n"),
              std::string::npos)
        << mail;
    EXPECT_NE(render_json(result).find("\"Clusters above 1 ms\""), std::string::npos);
}

TEST(Result, MarkdownFitsAMail) {
    Table table = table_of(4);
    table.notes.push_back("a note that is longer than a line of a mail can be, as those are that "
                          "tell of programs and their commands: cyclictest -t 1 -i 2777 -v");
    table.warnings.push_back("A WARNING THAT IS LONGER THAN A LINE OF A MAIL CAN BE, as those are "
                             "that tell of lost records and of CPUs that stood still");
    const std::string text =
        render_markdown(make_result(table, "a title that a user gave and that is rather longer than "
                                           "a line of a mail should ever be"));
    EXPECT_NE(text.find("95 % intervals of stock (2): Average -20 .. -5 %."), std::string::npos)
        << text;
    std::istringstream lines(text);
    size_t tables = 0;
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80u) << line;
        tables += line.starts_with("|---");
    }
    EXPECT_EQ(tables, 2u) << "the fourth arm stands beside the first in a table of its own";
    EXPECT_NE(text.find("| P99 (us)                   |         80 |   80.0 (-12 %)  |"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("| P50 (us)                   |         60 |     60 (-12 %)~ |"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace fairswitch
