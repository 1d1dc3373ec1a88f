#include <gtest/gtest.h>

#include "tests/unit/analysis_experiment.h"
#include "userspace/analysis/explain.h"

namespace fairswitch {
namespace {

using namespace test;

TEST(Story, LateSampleNamesCauseAndWhoRan) {
    Analysed a(experiment());
    auto worst = worst_periods(a.joined, 1);
    ASSERT_EQ(worst.size(), 1u);
    const Period& period = a.joined.periods[worst[0]];
    EXPECT_EQ(cause_of(period, a.evidence, a.decisions), Cause::kKeptDelayed);
    auto slices = who_ran(period, a.evidence, a.decisions);
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(slices[0].pid, kHog);
    EXPECT_EQ(slices[0].to_ns - slices[0].from_ns,
              *period.switch_in_ns - period.wake.stamp.time_ns);
    std::string text;
    for (const std::string& line : explain(period, a.evidence, a.decisions, "stock", 3))
        text += line + "\n";
    for (const char* part :
         {"2.50 ms late: cyclictest/812", ", block 4, arm stock", "timer fired on CPU 0",
          "hackbench/790", "KEEP", "pick_eevdf() chose pid 801, which sleeps", "lag +1.00 ms",
          "deadline V+310 us", "protected", "hackbench/790 ran for 2.44 ms", "switched in on CPU 0",
          "read the clock",
          "cause: kept waiting: the pick was a delayed (sleeping) entity: 2.44 ms of 2.50 ms"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// Windows may touch, overlap and contain each other, in any order.
TEST(DecisionStore, KeepsWhatLiesInAnyWindow) {
    const std::vector<DecisionStore::Window> windows = {{50, 60}, {10, 40}, {15, 20},
                                                        {60, 70}, {90, 90}, {35, 45}};
    DecisionStore store({}, windows);
    for (uint64_t time = 0; time <= 100; ++time) {
        model::Decision decision;
        decision.stamp.time_ns = time;
        store.add(decision);
    }
    store.finish();
    std::vector<uint64_t> expected, found;
    for (uint64_t time = 0; time <= 100; ++time)
        for (const auto& window : windows)
            if (time >= window.from_ns && time <= window.to_ns) {
                expected.push_back(time);
                break;
            }
    for (const model::Decision* decision : store.on(0, 0, 100))
        found.push_back(decision->stamp.time_ns);
    EXPECT_EQ(found, expected);
}

TEST(Story, CausesAreCountedByArm) {
    Analysed a(experiment());
    auto causes = causes_by_arm(a.joined, a.evidence, a.decisions, 1'000'000);
    EXPECT_EQ(causes[0][static_cast<size_t>(Cause::kKeptDelayed)], 72u);
    EXPECT_EQ(causes[1][static_cast<size_t>(Cause::kKeptDelayed)], 0u);
}

// Among 100 periods one that is woken before it has left the CPU, which it leaves `stall` later; it
// is switched in 2.5 ms after the expected moment, and if `again` is set for the first time then.
Stream woken_on_cpu(uint64_t stall, uint64_t again = 0) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 50; ++i) s.period(i, Stream::usual(i));
    const uint64_t expected = kStart + 50 * kInterval, in = expected + 2'500'000;
    s.switched(expected + 10'000, kHog, kPid, true);
    s.wake(expected, expected + 58'000);
    s.switched(expected + 58'000 + stall, kPid, kHog, false);
    if (again) {
        s.switched(expected + again, kHog, kPid, false);
        s.switched(expected + again + 2'000, kPid, kHog, true);
    }
    s.switched(in, kHog, kPid, true);
    s.switched(in + kReadCost + 6'000, kPid, kHog, false);
    s.samples.push_back({0, s.cycle++, 2'504'000});
    for (uint64_t i = 51; i < 100; ++i) s.period(i, Stream::usual(i));
    s.marker(2, 0, kStart + 100 * kInterval);
    return s;
}

struct WorstOf {
    explicit WorstOf(Stream s)
        : a(std::move(s)), period(a.joined.periods.at(worst_periods(a.joined, 1).at(0))) {}
    Cause cause() const { return cause_of(period, a.evidence, a.decisions); }
    LatencyParts parts() const { return parts_of(period, a.evidence); }
    Analysed a;
    const Period& period;
};

TEST(Story, StallIsTheCauseOnlyIfItIsTheLongestPart) {
    WorstOf most(woken_on_cpu(2'000'000));
    EXPECT_EQ(most.cause(), Cause::kCpuStalled);
    EXPECT_EQ(most.parts().stalled_ns, 2'000'000);
    EXPECT_EQ(most.parts().waiting_ns, 442'000);

    // More than 1 ms, yet it waited longer than that.
    WorstOf some(woken_on_cpu(1'100'000));
    EXPECT_EQ(some.cause(), Cause::kStillRunning);
    EXPECT_EQ(some.parts().stalled_ns, 1'100'000);
    EXPECT_EQ(some.parts().waiting_ns, 1'342'000);
    EXPECT_EQ(some.parts().longest(), 1'342'000);
}

TEST(Story, PreemptedAgainIsTheCauseOnlyIfItIsTheLongestPart) {
    WorstOf early(woken_on_cpu(5'000, 100'000));
    EXPECT_EQ(early.cause(), Cause::kReadLate);
    EXPECT_EQ(early.parts().again_ns, 2'400'000);
    WorstOf late(woken_on_cpu(5'000, 2'000'000));
    EXPECT_EQ(late.cause(), Cause::kStillRunning);
    EXPECT_EQ(late.parts().again_ns, 500'000);
}

TEST(Story, PartsAreAllOfTheLatency) {
    Analysed a(experiment());
    for (const Period& period : a.joined.periods) {
        if (!fate_in_table(period.fate)) continue;
        const LatencyParts p = parts_of(period, a.evidence);
        ASSERT_EQ(p.timer_ns + p.wake_ns + p.stalled_ns + p.waiting_ns + p.again_ns + p.after_ns,
                  period.latency_ns);
    }
}

TEST(Story, TextTellsTheLengthOfTheCause) {
    WorstOf most(woken_on_cpu(2'000'000));
    const auto lines = explain(most.period, most.a.evidence, most.a.decisions, "stock", 0);
    EXPECT_EQ(lines.back(),
              "  cause: its CPU stood still (virtual CPU without time, SMI, host load): 2.00 ms of "
              "2.50 ms");
}

TEST(Story, EveryPathHasWordsAndACause) {
    for (uint32_t path = FSW_PATH_SAME_ENTITY; path <= FSW_PATH_SYNC_PREEMPT; ++path) {
        model::Decision decision;
        decision.path = static_cast<decltype(decision.path)>(path);
        decision.verdict = FSW_VERDICT_KEEP;
        const std::string text = decision_text(decision, Evidence());
        EXPECT_EQ(text.find("path "), std::string::npos) << text;
        EXPECT_GT(text.size(), std::string("keep: ").size());
    }
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 100; ++i) s.period(i, i == 50 ? 1'900'000 : Stream::usual(i));
    s.marker(2, 0, kStart + 100 * kInterval);
    for (model::Record& record : s.records)
        if (auto* decision = std::get_if<model::Decision>(&record))
            if (decision->verdict == FSW_VERDICT_KEEP) decision->path = FSW_PATH_SYNC_KEEP;
    EXPECT_EQ(WorstOf(s).cause(), Cause::kKeptSync);
}

TEST(Story, WhatIsMissingIsNamed) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 100; ++i) s.period(i, i == 50 ? 1'900'000 : Stream::usual(i));
    s.marker(2, 0, kStart + 100 * kInterval);
    Stream without = s;
    std::erase_if(without.records, [](const model::Record& record) {
        return std::holds_alternative<model::Decision>(record);
    });
    Analysed a(without);
    auto worst = worst_periods(a.joined, 1);
    Cause cause = cause_of(a.joined.periods[worst[0]], a.evidence, a.decisions);
    EXPECT_EQ(cause, Cause::kNoDecision);
    EXPECT_FALSE(cause_explains(cause));
}

TEST(Duration, ReadsWell) {
    EXPECT_EQ(duration_text(57), "57 ns");
    EXPECT_EQ(duration_text(5'700), "5.7 us");
    EXPECT_EQ(duration_text(57'300), "57 us");
    EXPECT_EQ(duration_text(-2'310'000), "-2.31 ms");
    EXPECT_EQ(duration_text(12'300'000'000), "12.3 s");
}

}  // namespace
}  // namespace fairswitch
