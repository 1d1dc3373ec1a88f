#include <gtest/gtest.h>

#include "tests/unit/analysis_stream.h"
#include "userspace/analysis/align.h"

namespace fairswitch {
namespace {

using namespace test;

constexpr uint64_t kPeriods = 200;

// Periods [0, n), in one block that holds periods [begin, end).
Stream plain(uint64_t n = kPeriods, uint64_t begin = 0, uint64_t end = kPeriods) {
    Stream s;
    s.marker(1, 0, kStart + begin * kInterval - 1000);
    for (uint64_t i = 0; i < n; ++i) s.period(i, Stream::usual(i));
    s.marker(2, 0, kStart + end * kInterval - 1000);
    return s;
}

uint64_t sum_of_fates(const Join& join) {
    uint64_t sum = 0;
    for (uint64_t count : join.fates) sum += count;
    return sum;
}

// The truth of the made-up machine: a sample belongs to the period of its own cycle number.
void expect_true_join(const Join& join, uint64_t first_cycle_of_period_0 = 0) {
    for (const Period& period : join.periods) {
        if (period.fate != Fate::kUsed) continue;
        uint64_t index = (static_cast<uint64_t>(period.expected_ns) - kStart) / kInterval;
        ASSERT_TRUE(period.sample.has_value());
        EXPECT_EQ(period.sample->cycle, index + first_cycle_of_period_0);
    }
}

TEST(Join, EverySampleFindsItsWakeup) {
    Stream s = plain();
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods);
    EXPECT_EQ(sum_of_fates(j), kPeriods);
    EXPECT_EQ(j.interval_ns, kInterval);
    EXPECT_EQ(j.realigned, 0u);
    expect_true_join(j);
    ASSERT_EQ(j.blocks.size(), 1u);
    EXPECT_EQ(j.blocks[0].expected, kPeriods);
    EXPECT_EQ(j.blocks[0].missed(), 0u);
    const Period& p = j.periods[17];
    EXPECT_EQ(*p.switch_in_ns, kStart + 17 * kInterval + Stream::usual(17));
    EXPECT_FALSE(p.interrupted);
}

// As `fairswitch waker` prints them: the moment says which wakeup it was, whatever is missing.
TEST(Join, SamplesWithTimesAreMatchedByTime) {
    Stream s = plain();
    for (CyclicSample& sample : s.samples)
        sample.expected_ns = static_cast<int64_t>(kStart + sample.cycle * kInterval);
    s.samples.erase(s.samples.begin() + 20, s.samples.begin() + 50);
    s.samples.push_back({0, kPeriods, 60'000, kStart + kPeriods * kInterval});  // nobody woke
    s.samples[7].latency_ns = 1;                                                // before it ran
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods - 31);
    EXPECT_EQ(j.count(Fate::kNoSample), 30u);
    EXPECT_EQ(j.count(Fate::kNoRecords), 1u);
    EXPECT_EQ(j.count(Fate::kContrary), 1u);
    EXPECT_EQ(sum_of_fates(j), kPeriods + 1);
    expect_true_join(j);
}

TEST(Join, SkippedPeriodsAreMissedNotShifted) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < kPeriods; ++i) {
        if (i == 101 || i == 102) continue;  // slept through: no wakeup, no cycle
        s.period(i, i == 100 ? 2 * kInterval + 400'000 : Stream::usual(i));
    }
    s.marker(2, 0, kStart + kPeriods * kInterval - 1000);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods - 2);
    EXPECT_EQ(j.blocks[0].expected, kPeriods);
    EXPECT_EQ(j.blocks[0].missed(), 2u);
    EXPECT_EQ(j.realigned, 0u);
    EXPECT_EQ(j.periods[100].latency_ns / 1'000'000, 5);
    EXPECT_EQ(j.periods[101].sample->cycle, 101u);
    EXPECT_EQ(j.periods[101].expected_ns, static_cast<int64_t>(kStart + 103 * kInterval));
}

TEST(Join, RecordingBegunLateFindsTheShift) {
    Stream s;
    s.marker(1, 0, kStart + 50 * kInterval - 1000);
    for (uint64_t i = 0; i < kPeriods; ++i) s.period(i, Stream::usual(i), i >= 50);
    s.marker(2, 0, kStart + kPeriods * kInterval - 1000);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods - 50);
    EXPECT_EQ(j.count(Fate::kNoRecords), 50u);
    expect_true_join(j);
}

TEST(Join, SampleThatWasNotPrintedLeavesAWakeup) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < kPeriods; ++i) s.period(i, Stream::usual(i), true, i != 60);
    s.marker(2, 0, kStart + kPeriods * kInterval - 1000);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods - 1);
    EXPECT_EQ(j.count(Fate::kNoSample), 1u);
    EXPECT_EQ(j.blocks[0].unprinted, 1u);
    EXPECT_EQ(j.blocks[0].missed(), 0u);  // it took place
    expect_true_join(j);
}

TEST(Join, LostWakeupsAreRealignedAndCounted) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < kPeriods; ++i) s.period(i, Stream::usual(i), i < 90 || i >= 93);
    s.marker(2, 0, kStart + kPeriods * kInterval - 1000);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.realigned, 1u);
    expect_true_join(j);  // what is used is right
    EXPECT_GE(j.count(Fate::kUsed), kPeriods - 3 - 32);
    EXPECT_GT(j.count(Fate::kNoRecords) + j.count(Fate::kUnsure), 0u);
    for (const Period& p : j.periods) {
        if (p.expected_ns > static_cast<int64_t>(kStart + 120 * kInterval)) {
            EXPECT_EQ(p.fate, Fate::kUsed);
        }
    }
}

TEST(Join, LongLossIsBridged) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 900; ++i) s.period(i, Stream::usual(i), i < 200 || i >= 600);
    s.marker(2, 0, kStart + 900 * kInterval - 1000);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.realigned, 1u);
    expect_true_join(j);
    EXPECT_GE(j.count(Fate::kUsed), 900u - 400 - 128);
}

TEST(Join, LateReadInStepIsJoined) {
    Stream s = plain();
    s.samples[40].latency_ns += 1'900'000;  // on the CPU, but stopped before it read the clock
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods);
    EXPECT_EQ(j.realigned, 0u);
}

TEST(Join, SamplesOutsideBlocksAreGuard) {
    Stream s = plain(kPeriods, 40, 160);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), 120u);
    EXPECT_EQ(j.count(Fate::kGuard), 80u);
    EXPECT_EQ(j.blocks[0].latencies.size(), 120u);
    EXPECT_EQ(j.blocks[0].expected, 120u);
}

TEST(Join, LossDuringAPeriodMarksIt) {
    Stream s = plain();
    model::Lost lost;
    lost.stamp = s.stamp(kStart + 71 * kInterval);
    lost.first_ns = kStart + 70 * kInterval + 58'000;
    lost.last_ns = lost.first_ns + 1000;
    lost.decisions = 4;
    s.records.push_back(lost);
    Evidence evidence = s.evidence();
    EXPECT_EQ(evidence.records_lost(), 4u);
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kLost), 1u);
    EXPECT_EQ(j.periods[70].fate, Fate::kLost);
    EXPECT_EQ(j.blocks[0].latencies.size(), kPeriods);  // its latency is still true
}

TEST(Join, ContraryLatencyIsCounted) {
    Stream s = plain();
    s.samples[30].latency_ns = 10'000;  // before it was switched in: impossible
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kContrary), 1u);
    EXPECT_EQ(j.periods[30].fate, Fate::kContrary);
    EXPECT_EQ(j.realigned, 0u);
}

TEST(Join, PreemptedBeforeTheReadIsInterrupted) {
    Stream s = plain(80, 0, 80);
    // Period 80: on the CPU at 60 us, preempted at 61, back at 1500, reads the clock at 1504.
    const uint64_t expected = kStart + 80 * kInterval;
    s.wake(expected, expected + 58'000);
    s.switched(expected + 60'000, kHog, kPid, true);
    s.switched(expected + 61'000, kPid, kHog, true);
    s.switched(expected + 1'500'000, kHog, kPid, true);
    s.samples.push_back({0, 80, 1'504'000});
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    ASSERT_EQ(j.periods.size(), 81u);
    EXPECT_TRUE(j.periods[80].interrupted);
    EXPECT_EQ(*j.periods[80].switch_in_ns, expected + 1'500'000);
}

TEST(Join, ReusedPidIsAnotherThread) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 100; ++i) s.period(i, Stream::usual(i));
    // Later another cyclictest gets the same pid; its cycles count from 0, as cyclictest's thread 1
    // in this output.
    const uint64_t again = kStart + 150 * kInterval;
    s.task(kPid, kTgid, "cyclictest", again - 100, again - 200);
    for (uint64_t i = 150; i < 250; ++i) {
        s.period(i, Stream::usual(i * 3));
        s.samples.back().thread = 1;
        s.samples.back().cycle = i - 150;
    }
    s.marker(2, 0, kStart + 250 * kInterval);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), 200u);
    EXPECT_EQ(j.count(Fate::kNoRecords), 0u);
    EXPECT_EQ(j.blocks[0].missed(), 0u);  // nobody slept through the time between them
    for (const Period& p : j.periods) {
        bool second = p.expected_ns >= static_cast<int64_t>(again);
        EXPECT_EQ(p.thread, second ? 1u : 0u);
    }
}

TEST(Join, PrintingThreadIsNotMeasured) {
    Stream s = plain();
    s.task(kTgid, kTgid, "cyclictest", kStart - 5, 99);
    for (uint64_t i = 0; i < 40; ++i)
        s.wake(kStart + i * 10'000'000, kStart + i * 10'000'000 + 60'000, kTgid);
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods);
    for (const Period& p : j.periods) EXPECT_EQ(p.pid, kPid);
}

TEST(Join, OtherRunsSamplesFitNothing) {
    Stream s = plain();
    for (CyclicSample& sample : s.samples) sample.latency_ns = 7'000;
    Evidence evidence = s.evidence();
    Join j = join(evidence, &s.samples);
    EXPECT_EQ(j.count(Fate::kUsed), 0u);
    EXPECT_EQ(j.count(Fate::kNoRecords), kPeriods);
    ASSERT_FALSE(j.notes.empty());
    EXPECT_NE(j.notes[0].find("same run"), std::string::npos);
}

TEST(Join, WithoutSamplesRecordsTell) {
    Stream s = plain();
    Evidence evidence = s.evidence();
    Join j = join(evidence, nullptr);
    EXPECT_TRUE(j.from_records);
    EXPECT_EQ(j.count(Fate::kUsed), kPeriods);
    EXPECT_EQ(j.periods[5].latency_ns, static_cast<int64_t>(Stream::usual(5)));
}

TEST(Blocks, AreBetweenMarksWithTheirArm) {
    Stream s;
    s.swap(1, kStart);
    s.marker(1, 0, kStart + 1000);
    s.marker(2, 0, kStart + 2000);
    s.swap(0, kStart + 3000);
    s.marker(1, 1, kStart + 4000);
    s.marker(2, 1, kStart + 5000);
    s.marker(1, 2, kStart + 6000);  // never ended
    auto blocks = find_blocks(s.evidence());
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].arm, 1u);
    EXPECT_EQ(blocks[0].begin_ns, kStart + 1000);
    EXPECT_EQ(blocks[0].end_ns, kStart + 2000);
    EXPECT_EQ(blocks[1].arm, 0u);
    EXPECT_EQ(blocks[1].number, 1u);
}

TEST(Blocks, WithoutMarksSwapsPart) {
    Stream s;
    s.period(0, 60'000);
    s.swap(1, kStart + kInterval);
    s.period(2, 60'000);
    auto blocks = find_blocks(s.evidence());
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].arm, 0u);
    EXPECT_EQ(blocks[1].arm, 1u);
    EXPECT_EQ(blocks[0].end_ns, blocks[1].begin_ns);
}

TEST(Evidence, SequenceOrdersSwitchesWhereTheClockSteppedBack) {
    Evidence evidence;
    model::Switch first, second;
    first.stamp = {1000, 1, 0, 0, 0, 1};
    first.prev_pid = 1;
    first.next_pid = 2;
    second.stamp = {998, 2, 0, 0, 0, 1};
    second.prev_pid = 2;
    second.next_pid = 3;
    evidence.add(second);
    evidence.add(first);
    evidence.finish();
    EXPECT_EQ(evidence.switches(0)[0].next_pid, 2u);
    EXPECT_EQ(evidence.switches(0)[1].next_pid, 3u);
}

TEST(Evidence, NamesAreSafeToPrint) {
    EXPECT_EQ(printable("a\033[2Jb\xff"), "a?[2Jb?");
    Evidence evidence;
    EXPECT_EQ(evidence.who(0, 5), "idle");
    EXPECT_EQ(evidence.who(77, 5), "pid 77");
}

}  // namespace
}  // namespace fairswitch
