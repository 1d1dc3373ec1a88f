#include <gtest/gtest.h>
#include <sched.h>

#include <sstream>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/workload/task_attributes.h"
#include "userspace/workload/waker.h"
#include "userspace/workload/waker_text.h"

namespace fairswitch {
namespace {

WakerOutput parse(const std::string& text) {
    std::istringstream in(text);
    return WakerOutput::parse(in);
}

TEST(WakerText, IsReadAsItWasWritten) {
    const std::string text = std::string(kWakerHead) + "\n# thread 0 tid 5\n" +
                             waker_line({0, 17, 120'017'000'000, 120'017'057'311}) +
                             waker_skip_line(0, 18, 2) + waker_dropped_line(0, 3) +
                             waker_end_line({0, 1, 2, 3});
    const WakerOutput out = parse(text);
    ASSERT_EQ(out.samples.size(), 1u);
    EXPECT_EQ(out.samples[0].period, 17u);
    EXPECT_EQ(out.samples[0].expected_ns, 120'017'000'000);
    EXPECT_EQ(out.samples[0].ran_ns, 120'017'057'311);
    EXPECT_EQ(out.skipped, 2u);
    EXPECT_EQ(out.dropped, 3u);
    ASSERT_EQ(out.ends.size(), 1u);
    EXPECT_EQ(out.ends[0].slept, 1u);
    EXPECT_EQ(out.ends[0].skipped, 2u);
    EXPECT_EQ(out.ends[0].dropped, 3u);
    EXPECT_EQ(out.unparsed_lines, 0u);
}

TEST(WakerText, ForeignLinesAreCountedAndTheFirstIsKept) {
    const WakerOutput out = parse(
        "0 1 2000 1000\n"  // ran before it was expected
        "0 1 1000\n"
        "skip 0 1\n"
        "end 0 slept 1 skipped 2 lost 3\n"
        "0 1 1000 2000 3000\n");
    EXPECT_TRUE(out.samples.empty());
    EXPECT_EQ(out.unparsed_lines, 5u);
    EXPECT_EQ(out.first_unparsed, "0 1 2000 1000");
}

TEST(WakerText, IsToldFromCyclictests) {
    std::istringstream waker(std::string(kWakerHead) + "\nrest\n");
    EXPECT_TRUE(WakerOutput::is_one(waker));
    std::string line;
    std::getline(waker, line);
    EXPECT_EQ(line, kWakerHead);
    std::istringstream other("       0:       1:      57\n");
    EXPECT_FALSE(WakerOutput::is_one(other));
    std::istringstream empty("");
    EXPECT_FALSE(WakerOutput::is_one(empty));
}

WakerOutput run(const WakerOptions& options) {
    std::stringstream text;
    const std::atomic<bool> stop{false};
    run_waker(options, stop, text);
    return WakerOutput::parse(text);
}

TEST(Waker, EveryPeriodIsInOneLine) {
    WakerOptions options;
    options.threads = 2;
    options.interval_ns = 2'000'000;
    options.busy_ns = 500'000;
    options.seconds = 0.2;
    const WakerOutput out = run(options);
    EXPECT_EQ(out.unparsed_lines, 0u);
    ASSERT_EQ(out.ends.size(), 2u);
    EXPECT_EQ(out.samples.size() + out.skipped, 200u) << "100 periods of 2 ms for each thread";
    EXPECT_EQ(out.ends[0].slept + out.ends[0].skipped, 100u);
    EXPECT_EQ(out.ends[1].slept + out.ends[1].skipped, 100u);
    for (const WakerSample& sample : out.samples) EXPECT_GE(sample.ran_ns, sample.expected_ns);
}

TEST(Waker, MomentsLieOnAGrid) {
    WakerOptions options;
    options.interval_ns = 1'000'000;
    options.seconds = 1;  // a busy machine lets it run at least once
    const WakerOutput out = run(options);
    ASSERT_FALSE(out.samples.empty());
    const WakerSample& first = out.samples.front();
    for (const WakerSample& sample : out.samples) {
        EXPECT_EQ(sample.expected_ns - first.expected_ns,
                  static_cast<int64_t>(sample.period - first.period) * 1'000'000);
    }
}

// Its work takes longer than its period: every second one at least can't be slept to.
TEST(Waker, SkipsWhatItComesTooLateFor) {
    WakerOptions options;
    options.interval_ns = 1'000'000;
    options.busy_ns = 1'500'000;
    options.seconds = 0.1;
    const WakerOutput out = run(options);
    EXPECT_GE(out.skipped, out.samples.size() / 2);
    EXPECT_EQ(out.samples.size() + out.skipped, 100u);
}

TEST(Waker, StopsWhenTold) {
    std::atomic<bool> stop{false};
    std::stringstream text;
    std::thread running([&] { run_waker(WakerOptions{}, stop, text); });
    stop = true;
    running.join();
    EXPECT_EQ(WakerOutput::parse(text).ends.size(), 1u);
}

TEST(Waker, ARefusedAttributeIsNamed) {
    WakerOptions options;
    options.cpus = {1023};
    const std::atomic<bool> stop{false};
    std::stringstream text;
    try {
        run_waker(options, stop, text);
        FAIL() << "CPU 1023 was accepted";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kRunFailed);
        EXPECT_STREQ(failure.what(), "can't run on CPU 1023: Invalid argument");
    }
}

TEST(TaskAttributes, CpuLists) {
    EXPECT_EQ(parse_cpu_list("3"), (std::vector<int>{3}));
    EXPECT_EQ(parse_cpu_list("0,2-4"), (std::vector<int>{0, 2, 3, 4}));
    for (const char* wrong : {"", "a", "1,", "3-1", "-1", "1-", "2 3", "99999"})
        EXPECT_THROW(parse_cpu_list(wrong), Failure) << wrong;
}

TEST(TaskAttributes, Policies) {
    EXPECT_EQ(parse_policy("batch"), static_cast<uint32_t>(SCHED_BATCH));
    EXPECT_STREQ(policy_name(SCHED_RR), "rr");
    try {
        parse_policy("normal");
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_STREQ(failure.what(),
                     "there is no policy 'normal'; there are: other batch idle fifo rr");
        EXPECT_EQ(failure.exit(), Exit::kUsage);
    }
}

TEST(TaskAttributes, NiceIsReadBack) {
    std::thread([] {
        set_attributes({.policy = SCHED_BATCH, .nice = 5});
        const TaskAttributes found = read_attributes();
        EXPECT_EQ(found.policy, static_cast<uint32_t>(SCHED_BATCH));
        EXPECT_EQ(found.nice, 5);
    }).join();
}

}  // namespace
}  // namespace fairswitch
