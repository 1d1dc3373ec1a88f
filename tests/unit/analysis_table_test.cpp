#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/unit/analysis_experiment.h"

namespace fairswitch {
namespace {

using namespace test;

TEST(Tally, CountsByArmInBlocksOnly) {
    Analysed a(experiment());
    const ArmCounts& stock = a.tally.of(0);
    EXPECT_EQ(stock.decisions, 12u * 60);
    EXPECT_EQ(stock.preempts, 12u * 54);
    EXPECT_EQ(stock.delayed_picked, 12u * 6);
    EXPECT_TRUE(stock.taken.empty());
    EXPECT_EQ(a.tally.of(1).preempts, 12u * 60);
    EXPECT_NEAR(stock.seconds, 12 * 60 * kInterval / 1e9, 1e-6);
    EXPECT_EQ(a.tally.outside(), 24u * 5);
    EXPECT_EQ(a.tally.mixed(), 0u);
}

TEST(Tally, CountsBranchesOfRequeueAndDelay) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    model::Requeue requeue;
    requeue.stamp = {1500, 1, 0, 0, 0, 1};
    requeue.entity = Stream::entity(5, 0, 0);
    requeue.branches = FSW_LAG_CLAMPED | FSW_LAG_CLOCK_UPDATED;
    requeue.curr_stale_ns = 700;
    tally.add(requeue);
    model::Delay delay;
    delay.stamp = {1600, 2, 0, 0, 0, 1};
    delay.entity = Stream::entity(5, 0, 0);
    delay.verdict = FSW_DELAY_DELAYED;
    tally.add(delay);
    EXPECT_EQ(tally.of(0).requeues, 1u);
    EXPECT_EQ(tally.of(0).taken,
              (std::map<std::string, uint64_t>{{"lag-clamp", 1}, {"requeue-clock", 1}}));
    EXPECT_EQ(tally.of(0).stale_clocks, 1u);
    EXPECT_EQ(tally.of(0).delayed, 1u);
}

TEST(Tally, EachVariantHasItsBranch) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    auto decided = [&](uint32_t path, uint32_t branches, uint32_t curr_flags) {
        model::Decision decision;
        decision.stamp = {1500, 1, 0, 0, 0, 1};
        decision.path = static_cast<decltype(decision.path)>(path);
        decision.curr = Stream::entity(7, 0, curr_flags);
        decision.queue.emplace();
        decision.queue->branches = branches;
        tally.add(decision);
    };
    decided(FSW_PATH_PICK_KEEP, FSW_BRANCH_DELAYED_PICKED, 0);
    EXPECT_TRUE(tally.of(0).taken.empty());
    decided(FSW_PATH_PICK_PREEMPT, FSW_BRANCH_DEQUEUE_DELAYED, 0);
    decided(FSW_PATH_CANCEL_PREEMPT, FSW_BRANCH_BUDDY_CLEARED, 0);
    decided(FSW_PATH_PICK_PREEMPT, FSW_BRANCH_BUDDY_NOMINATED, 0);
    const uint32_t idle = FSW_ENTITY_IDLE | FSW_ENTITY_EFFECTIVE_IDLE;
    decided(FSW_PATH_IDLE_PREEMPT, 0, idle);                                  // of an idle group
    decided(FSW_PATH_IDLE_PREEMPT, 0, idle | 5u << FSW_ENTITY_POLICY_SHIFT);  // SCHED_IDLE itself
    const std::map<std::string, uint64_t> expected = {{"dequeue-delayed", 1},
                                                      {"cancel-protection", 1},
                                                      {"short-buddy", 2},
                                                      {"hierarchical-idle", 1}};
    EXPECT_EQ(tally.of(0).taken, expected);
}

TEST(Table, RowsAreThoseOfTheVariantsThatTheLogKnows) {
    Analysed a(experiment());
    Table table = a.table();
    table.variants = {"lag-clamp", "short-buddy"};
    const std::string text = render_text(table);
    EXPECT_NE(text.find("lag-clamp raised a lag "), std::string::npos);
    EXPECT_NE(text.find("short-buddy changed a hint "), std::string::npos);
    EXPECT_EQ(text.find("dequeue-delayed taken"), std::string::npos);
}

TEST(Table, MaximumHasNoVerdict) {
    Analysed a(experiment());
    const std::string text = render_text(a.table());
    EXPECT_NE(text.find("Maximum           (us)               2503        106   (-96 %)?\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("? = no verdict: the Maximum"), std::string::npos);
}

TEST(Tally, EntityDelayedUnderAnotherArmIsCarriedOver) {
    for (bool end_first : {false, true}) {  // rings are drained in any order
        Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}, {{1, 3000, 4000, 1}, {}, 0, 0}});
        model::Delay delay;
        delay.stamp = {1900, 1, 0, 0, 0, 1};
        delay.entity = Stream::entity(5, 0, 0);
        delay.verdict = FSW_DELAY_DELAYED;
        model::Requeue requeue;
        requeue.stamp = {3100, 1, 1, 1, 1, 2};
        requeue.entity = Stream::entity(5, 0, 0);
        if (end_first) {
            tally.add(requeue);
            tally.add(delay);
        } else {
            tally.add(delay);
            tally.add(requeue);
        }
        EXPECT_EQ(tally.of(1).carried_over, 1u) << end_first;
        EXPECT_EQ(tally.of(0).carried_over, 0u);
    }
}

TEST(Tally, RecordOfAnotherArmInABlockIsMixed) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    model::Decision decision;
    decision.stamp = {1500, 1, 0, 0, 1, 2};
    tally.add(decision);
    EXPECT_EQ(tally.mixed(), 1u);
    EXPECT_EQ(tally.of(0).decisions, 0u);
}

TEST(Tally, ABriefIsADecision) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    model::Brief brief;
    brief.stamp = {1500, 1, 0, 0, 0, 2};
    brief.path = FSW_PATH_CANCEL_PREEMPT;
    brief.verdict = FSW_VERDICT_PREEMPT;
    tally.add(brief);
    EXPECT_EQ(tally.of(0).decisions, 1u);
    EXPECT_EQ(tally.of(0).briefs, 1u);
    EXPECT_EQ(tally.of(0).preempts, 1u);
    EXPECT_EQ(tally.of(0).paths[FSW_PATH_CANCEL_PREEMPT], 1u);
    EXPECT_EQ(tally.of(0).taken.at("cancel-protection"), 1u);
}

// What a Brief can't tell is not counted as zero.
TEST(Table, BriefsLeaveRowsUntold) {
    Stream s = experiment();
    make_brief(s.records);
    Analysed a(std::move(s));
    const std::string text = render_text(a.table());
    EXPECT_NE(text.find("not told by records at detail `brief`"), std::string::npos);
    EXPECT_NE(text.find("the pick was another (brief"), std::string::npos);
    const size_t row = text.find("dequeue-delayed taken");
    ASSERT_NE(row, std::string::npos);
    EXPECT_NE(text.substr(row, 60).find(" -"), std::string::npos);
}

// One period of arm 1 is so late that two are skipped: they stand beside the raw rows.
TEST(Table, SkippedPeriodsHaveRowsOfTheirOwn) {
    Stream s;
    uint64_t at = 0;
    for (uint64_t block = 0; block < 2; ++block) {
        s.swap(block == 0 ? 0 : 1, kStart + at * kInterval - 500'000);
        s.marker(1, block, kStart + at * kInterval - 1000);
        for (int i = 0; i < 150; ++i, ++at) {
            const bool late = block == 1 && i == 100;
            s.period(at, late ? 2 * kInterval + 400'000 : Stream::usual(at));
            if (late) at += 2, i += 2;
        }
        s.marker(2, block, kStart + at * kInterval - 1000);
    }
    Analysed a(std::move(s));
    const Table table = a.table();
    ASSERT_EQ(table.columns.size(), 2u);
    const ArmColumn& late = table.columns[1];
    EXPECT_EQ(table.columns[0].omitted_added, 0u);
    EXPECT_EQ(table.columns[0].with_omitted, table.columns[0].sorted);
    EXPECT_EQ(late.omitted_added, 2u);
    EXPECT_EQ(late.omitted_unplaced, 0u);
    ASSERT_EQ(late.with_omitted.size(), late.sorted.size() + 2);
    const int64_t longest = late.sorted.back();
    EXPECT_TRUE(std::binary_search(late.with_omitted.begin(), late.with_omitted.end(),
                                   longest - static_cast<int64_t>(kInterval)));
    const std::string text = render_text(table);
    EXPECT_NE(text.find("P99.9 + skipped (us)"), std::string::npos) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("\n  periods added +0 +2\n"))) << text;
}

TEST(Table, Golden) {
    Analysed a(experiment());
    const std::string text = render_text(a.table());
    const std::string path = std::string(FAIRSWITCH_TEST_DATA) + "/analysis_table.txt";
    if (std::getenv("FAIRSWITCH_WRITE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream in(path);
    std::stringstream golden;
    golden << in.rdbuf();
    EXPECT_EQ(text, golden.str()) << "set FAIRSWITCH_WRITE_GOLDEN=1 to accept";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Table, WithoutAPlanStockIsTheBase) {
    Stream s;
    uint64_t at = 0;
    for (uint64_t block = 0; block < 2; ++block) {
        s.swap(block == 0 ? 1 : 0, kStart + at * kInterval - 500'000);
        s.marker(1, block, kStart + at * kInterval - 1000);
        for (int i = 0; i < 60; ++i, ++at) s.period(at, Stream::usual(at));
        s.marker(2, block, kStart + at * kInterval - 1000);
    }
    Analysed a(std::move(s));
    a.names[1] = "a-name-that-is-far-too-long-for-its-column";
    const Table table = a.table();
    EXPECT_EQ(table.columns.at(0).arm, 0u);
    const std::string text = render_text(table);
    EXPECT_NE(text.find(" column 2: a-name-that-is-far-too-long-for-its-column\n"),
              std::string::npos);
    EXPECT_NE(text.find("no verdict: fewer than 10 pairs"), std::string::npos);
}

TEST(Table, LostRecordsStandOnTop) {
    Stream s = experiment();
    model::Lost lost;
    lost.stamp = s.stamp(kStart);
    lost.first_ns = lost.last_ns = kStart + 30 * kInterval;
    lost.switches = 9;
    s.records.push_back(lost);
    Analysed a(std::move(s));
    EXPECT_EQ(render_text(a.table()).rfind("!! 9 RECORDS LOST", 0), 0u);
}

TEST(Table, NoSampleIsSaidNotInvented) {
    Analysed a{Stream()};
    EXPECT_EQ(render_text(a.table()).rfind("No block was completed", 0), 0u);
    EXPECT_EQ(a.table().columns.at(0).sorted.size(), 0u);
}

TEST(Table, FourArmsFitAScreen) {
    Analysed run(experiment());
    Table table = run.table();
    while (table.columns.size() < 4) {
        table.columns.push_back(table.columns[1]);
        table.comparisons.push_back(table.comparisons[0]);
    }
    table.warnings.push_back(std::string(40, 'A') + " " + std::string(70, 'B'));
    table.notes.push_back(std::string(70, 'c') + " " + std::string(40, 'd'));
    table.load = std::string(70, 'e') + " " + std::string(40, 'f');
    std::istringstream lines(render_text(table));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace fairswitch
