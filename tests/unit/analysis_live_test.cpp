// The live view on the made-up machine of analysis_stream.h.
#include <gtest/gtest.h>

#include "tests/unit/analysis_stream.h"
#include "userspace/analysis/live.h"

namespace fairswitch {
namespace {

using namespace test;

Header some_header() {
    Header header;
    header.set_start_monotonic_ns(kStart);
    Arm& arm = *header.add_arms();
    arm.set_id(1);
    arm.set_name("dequeue-delayed");
    return header;
}

LiveView view_of(const Stream& stream, unsigned window_s = 5) {
    LiveView view(some_header(), window_s);
    for (const model::Record& record : stream.records) view.add(record);
    return view;
}

// About 3.6 s at 360 periods a second; arm 1 from the middle on.
Stream two_arms() {
    Stream stream;
    for (uint64_t i = 0; i < 1300; ++i) {
        if (i == 650) stream.swap(1, kStart + i * kInterval - 1000);
        stream.period(i, i == 1200 ? 2'300'000 : Stream::usual(i));
    }
    return stream;
}

TEST(LiveView, CountsByArmVerdictAndPath) {
    const LiveSnapshot snapshot = view_of(two_arms()).snapshot(3);
    ASSERT_EQ(snapshot.arms.size(), 2u);
    EXPECT_EQ(snapshot.arms[0].name, "stock");
    EXPECT_EQ(snapshot.arms[1].name, "dequeue-delayed");
    // Whole seconds only: 3 of 3.6.
    EXPECT_NEAR(snapshot.seconds, 3.0, 1e-9);
    EXPECT_NEAR(static_cast<double>(snapshot.arms[0].decisions + snapshot.arms[1].decisions),
                3e9 / kInterval, 1.5);
    EXPECT_EQ(snapshot.arms[0].keep_paths[FSW_PATH_PICK_KEEP], 0u);
    EXPECT_EQ(snapshot.arms[0].preempt_paths[FSW_PATH_PICK_PREEMPT], snapshot.arms[0].preempts);
    EXPECT_EQ(snapshot.arm, 1u);
}

TEST(LiveView, TellsTheWorstWithItsCause) {
    const LiveSnapshot snapshot = view_of(two_arms()).snapshot(3);
    ASSERT_EQ(snapshot.worst.size(), 3u);
    EXPECT_EQ(snapshot.wakeups, 1300u);
    EXPECT_EQ(snapshot.worst[0].latency_ns, 2'300'000);
    EXPECT_EQ(snapshot.worst[0].who, "cyclictest/812");
    EXPECT_EQ(snapshot.worst[0].arm, "dequeue-delayed");
    EXPECT_EQ(snapshot.worst[0].cause, Cause::kKeptDelayed);
    EXPECT_EQ(snapshot.worst[0].longest_ns, 2'300'000 - 58'000);
    EXPECT_LT(snapshot.worst[1].latency_ns, 200'000);
    EXPECT_GE(snapshot.worst[1].latency_ns, snapshot.worst[2].latency_ns);
}

// The late one lies 0.28 s before the end: outside of the window once a second went by.
TEST(LiveView, ForgetsWhatIsOlderThanTheWindow) {
    Stream stream = two_arms();
    EXPECT_EQ(view_of(stream, 1).snapshot(1).worst[0].latency_ns, 2'300'000);
    for (uint64_t i = 1300; i < 1700; ++i) stream.period(i, Stream::usual(i));
    const LiveSnapshot snapshot = view_of(stream, 1).snapshot(1);
    EXPECT_LT(snapshot.worst[0].latency_ns, 200'000);
    EXPECT_NEAR(static_cast<double>(snapshot.wakeups), 1e9 / kInterval, 2);
    ASSERT_EQ(snapshot.arms.size(), 1u);
    EXPECT_EQ(snapshot.arms[0].arm, 1u);
}

// A thread that no timer wakes: its latency begins with the wakeup.
TEST(LiveView, MeasuresAnyWatchedThread) {
    Stream stream;
    stream.period(0, 90'000);
    auto& wake = std::get<model::Wake>(stream.records[2]);
    wake.source = FSW_WAKE_OTHER;
    wake.timer.reset();
    const LiveSnapshot snapshot = view_of(stream).snapshot(1);
    ASSERT_EQ(snapshot.worst.size(), 1u);
    EXPECT_EQ(snapshot.worst[0].latency_ns, 90'000 - 58'000);
}

// Decisions of a recording at detail `brief` count like others.
TEST(LiveView, CountsBriefs) {
    Stream stream = two_arms();
    make_brief(stream.records);
    const LiveSnapshot full = view_of(two_arms()).snapshot(1), brief = view_of(stream).snapshot(1);
    ASSERT_EQ(brief.arms.size(), full.arms.size());
    EXPECT_EQ(brief.arms[0].decisions, full.arms[0].decisions);
    EXPECT_EQ(brief.arms[0].preempt_paths, full.arms[0].preempt_paths);
    EXPECT_EQ(brief.worst[0].cause, Cause::kKeptBrief);
}

TEST(LiveView, CountsLosses) {
    Stream stream = two_arms();
    model::Lost lost;
    lost.stamp = stream.stamp(kStart + 1200 * kInterval + 100'000);
    lost.first_ns = lost.last_ns = lost.stamp.time_ns;
    lost.switches = 7;
    stream.records.push_back(lost);
    const LiveSnapshot snapshot = view_of(stream).snapshot(1);
    EXPECT_EQ(snapshot.lost, 7u);
    EXPECT_EQ(snapshot.worst[0].cause, Cause::kRecordsLost);
    EXPECT_NE(live_line(snapshot).find("7 LOST"), std::string::npos);
}

TEST(LiveView, NothingRecordedIsShown) {
    const LiveView view(some_header(), 5);
    EXPECT_NE(live_line(view.snapshot(5)).find("no decisions"), std::string::npos);
    EXPECT_EQ(live_screen(view.snapshot(5)).back(),
              "no wakeups of watched threads; name some with --watch");
}

TEST(LiveView, ScreenAndLine) {
    const LiveSnapshot snapshot = view_of(two_arms()).snapshot(1);
    const auto screen = live_screen(snapshot);
    ASSERT_EQ(screen.size(), 11u);
    EXPECT_EQ(screen[0], "3.6 s recorded, 5203 records, 0 lost; per second over 3.0 s:");
    EXPECT_EQ(screen[2], "stock: 217 decisions/s, 100.0 % preempt");
    EXPECT_EQ(screen[3], "  keep     none");
    EXPECT_EQ(screen[4], "  preempt  pick-preempt 217");
    EXPECT_EQ(screen[9], "worst of 1300 wakeups of watched threads:");
    EXPECT_EQ(screen[10],
              "   2.30 ms  cyclictest/812          at 3.332 s, CPU 0, dequeue-delayed; kept "
              "waiting: the pick was a delayed (sleeping) entity: 2.24 ms");
    EXPECT_EQ(live_line(snapshot),
              "    3.6 s  stock 217/s 100 % preempt  dequeue-delayed 144/s 100 % preempt  worst "
              "2.30 ms cyclictest/812 (kept waiting: the pick was a delayed (sleeping) entity)");
}

}  // namespace
}  // namespace fairswitch
