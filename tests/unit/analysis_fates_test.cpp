// Whatever happens to a period is counted, in a row of its own, and the rows add up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/analysis_experiment.h"

namespace fairswitch {
namespace {

using namespace test;

constexpr uint64_t kFirst = 10, kLast = 110, kAll = 120;  // periods in the block, and of the run

int64_t moment(uint64_t period) { return static_cast<int64_t>(kStart + period * kInterval); }

// As `fairswitch waker` prints them, with the moment of each.
void waker_period(Stream& s, uint64_t index, uint64_t in, bool recorded = true,
                  bool printed = true) {
    s.period(index, in, recorded, printed);
    if (printed) s.samples.back().expected_ns = moment(index);
}

void lose_records(Stream& s, uint64_t from, uint64_t to) {
    model::Lost lost;
    lost.stamp = s.stamp(to + 1000);
    lost.first_ns = from;
    lost.last_ns = to;
    lost.decisions = 3;
    s.records.push_back(lost);
}

void wake_under(Stream& s, uint64_t period, uint32_t arm) {
    for (model::Record& record : s.records)
        if (auto* wake = std::get_if<model::Wake>(&record))
            if (static_cast<int64_t>(wake->timer->soft_expiry_ns) == moment(period))
                wake->stamp.arm = arm;
}

constexpr uint64_t kLateSkips = 30;   // and 31, 32 pass meanwhile
constexpr uint64_t kOverruns = 40;    // ran in time and worked through 41
constexpr uint64_t kContrary = 50;    // read the clock before it was switched in
constexpr uint64_t kLateLost = 60;    // late, and records are lost while it waits
constexpr uint64_t kUnprinted = 70;
constexpr uint64_t kUnrecorded = 80;
constexpr uint64_t kOtherArm = 90;

Stream everything(bool unrecorded) {
    Stream s;
    s.marker(1, 0, kStart + kFirst * kInterval - 1000);
    for (uint64_t i = 0; i < kAll; ++i) {
        if (i == kLateSkips + 1 || i == kLateSkips + 2 || i == kOverruns + 1) continue;
        const uint64_t in = i == kLateSkips  ? 2 * kInterval + 400'000
                            : i == kLateLost ? 2'500'000
                                             : Stream::usual(i);
        waker_period(s, i, in, !unrecorded || i != kUnrecorded, i != kUnprinted);
        if (i == kContrary) s.samples.back().latency_ns = 10'000;
        if (i == kLateLost)
            lose_records(s, kStart + i * kInterval + 900'000, kStart + i * kInterval + 1'000'000);
    }
    s.marker(2, 0, kStart + kLast * kInterval - 1000);
    wake_under(s, kOtherArm, 1);
    return s;
}

uint64_t sum_of_fates(const Join& join) {
    uint64_t sum = 0;
    for (const uint64_t count : join.fates) sum += count;
    return sum;
}

TEST(Fates, EachCaseHasItsRowAndAllAddUp) {
    Stream s = everything(true);
    s.samples.push_back({3, 0, 60'000, moment(20)});  // of a thread that no record tells of
    const size_t samples = s.samples.size();
    Analysed run(std::move(s));
    const Join& join = run.joined;
    EXPECT_EQ(join.count(Fate::kGuard), kFirst + (kAll - kLast));
    EXPECT_EQ(join.count(Fate::kContrary), 1u);
    EXPECT_EQ(join.count(Fate::kLost), 1u);
    EXPECT_EQ(join.count(Fate::kNoSample), 1u);
    EXPECT_EQ(join.count(Fate::kNoRecords), 2u);
    EXPECT_EQ(join.count(Fate::kArmDiffers), 1u);
    EXPECT_EQ(join.count(Fate::kUnsure), 0u);
    EXPECT_EQ(join.count(Fate::kUsed), 92u);
    EXPECT_EQ(sum_of_fates(join), samples + join.count(Fate::kNoSample));

    const BlockResult& block = join.blocks.at(0);
    EXPECT_EQ(block.expected, kLast - kFirst);
    EXPECT_EQ(block.latencies.size(), 94u) << "used, lost and contrary";
    EXPECT_EQ(block.unprinted, 1u);
    // Two skipped, one overrun, and what the rows of unrecorded and of another arm hold.
    EXPECT_EQ(block.missed(), 3u + 1 + 1);
    EXPECT_EQ(block.latencies.size() + block.unprinted + block.missed(), block.expected);

    const std::string text = render_text(run.table());
    for (const Fate fate : {Fate::kUsed, Fate::kGuard, Fate::kArmDiffers, Fate::kLost,
                            Fate::kContrary, Fate::kNoRecords, Fate::kNoSample})
        EXPECT_NE(text.find(fmt::format("  {:>7}  {}\n", join.count(fate), fate_text(fate))),
                  std::string::npos)
            << fate_text(fate) << "\n"
            << text;
    EXPECT_NE(text.find("Missed Periods                          5"), std::string::npos) << text;
}

// A skipped period waited until its thread ran at last; one that was worked through, nobody knows.
TEST(Fates, SkippedAndOverrunPeriodsAreToldApart) {
    Analysed run(everything(false));
    const Table table = run.table();
    ASSERT_FALSE(table.columns.empty());
    EXPECT_EQ(table.columns[0].omitted_added, 2u);
    EXPECT_EQ(table.columns[0].omitted_unplaced, 1u);
    EXPECT_EQ(table.columns[0].with_omitted.size(), table.columns[0].sorted.size() + 2);
    EXPECT_EQ(table.columns[0].missed, 3u + 1);
}

// The late sample stays in the table: its latency is true, whatever isn't known of its cause.
TEST(Fates, LossWithinALatePeriodKeepsItsLatencyAndSaysSo) {
    Analysed run(everything(false));
    const Period* late = nullptr;
    for (const Period& period : run.joined.periods)
        if (period.expected_ns == moment(kLateLost)) late = &period;
    ASSERT_NE(late, nullptr);
    EXPECT_EQ(late->fate, Fate::kLost);
    const auto& latencies = run.joined.blocks.at(0).latencies;
    EXPECT_EQ(std::count(latencies.begin(), latencies.end(), late->latency_ns), 1);
    EXPECT_EQ(run.table().warnings.at(0).rfind("3 RECORDS LOST", 0), 0u);
}

// A waker was killed, and the thread of the next one got the same number: two threads.
TEST(Fates, AWakersThreadReplacedByASameNumberedPid) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 60; ++i) waker_period(s, i, Stream::usual(i));
    s.task(kPid, kTgid + 50, "fairswitch", kStart + 80 * kInterval, kStart + 79 * kInterval);
    for (uint64_t i = 81; i < 141; ++i) {
        waker_period(s, i, Stream::usual(i));
        s.samples.back().thread = 1;
        s.samples.back().cycle = i - 81;
    }
    s.marker(2, 0, kStart + 141 * kInterval);
    const Evidence evidence = s.evidence();
    EXPECT_EQ(measured_thread_count(evidence), 2u);
    const Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), 120u);
    EXPECT_EQ(sum_of_fates(j), 120u);
    EXPECT_EQ(j.blocks.at(0).expected, 120u) << "nobody was expected between them";
    EXPECT_EQ(j.blocks.at(0).missed(), 0u);
    for (const Period& period : j.periods)
        EXPECT_EQ(period.thread, period.expected_ns >= moment(81) ? 1u : 0u);
}

}  // namespace
}  // namespace fairswitch
