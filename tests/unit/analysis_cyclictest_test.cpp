#include <gtest/gtest.h>

#include <sstream>

#include "userspace/analysis/cyclictest.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

CyclicOutput parse(const std::string& text, const CyclicCommand& command = {}) {
    std::istringstream in(text);
    return CyclicOutput::parse(in, command);
}

// cyclictest -t1 -i 2777 -l 5 -v --policy=other --mlock, rt-tests 2.4
const char* const kVerbose =
    "Max CPUs = 2\n"
    "Online CPUs = 2\n"
    "# /dev/cpu_dma_latency set to 0us\n"
    "Thread 0 Interval: 3277\n"
    "       0:       0:     103\n"
    "       0:       1:     103\n"
    "       0:       2:      91\n"
    "       0:       3:      88\n"
    "       0:       4:     104\n";

// cyclictest -t1 -i 2777 -l 300 -q --policy=other
const char* const kSummary =
    "# /dev/cpu_dma_latency set to 0us\n"
    "T: 0 ( 5634) P: 0 I:2777 C:    300 Min:     14 Act:   65 Avg:   68 Max:     108\n";

// cyclictest -t1 -i 2777 -l 300 -q -h 60 --policy=other, rows with counts and the first ones
const char* const kHistogram =
    "# /dev/cpu_dma_latency set to 0us\n"
    "# Histogram\n"
    "000000 000000\n"
    "000001 000000\n"
    "000024 000002\n"
    "000029 000001\n"
    "000037 000001\n"
    "000046 000001\n"
    "# Total: 000000005\n"
    "# Min Latencies: 00024\n"
    "# Avg Latencies: 00067\n"
    "# Max Latencies: 00106\n"
    "# Histogram Overflows: 00295\n"
    "# Histogram Overflow at cycle number:\n"
    "# Thread 0: 00000 00001 00002 # 00235 others\n";

TEST(Cyclictest, ReadsVerboseSamples) {
    CyclicOutput out = parse(kVerbose);
    ASSERT_EQ(out.samples.size(), 5u);
    EXPECT_EQ(out.samples[2].cycle, 2u);
    EXPECT_EQ(out.samples[2].latency_ns, 91'000);
    EXPECT_EQ(out.unparsed_lines, 0u);
    EXPECT_EQ(out.cycle_gaps, 0u);
}

TEST(Cyclictest, ReadsNanoseconds) {
    CyclicOutput out =
        parse("       0:       0:   65123\n", CyclicCommand::parse("cyclictest -N -v"));
    ASSERT_EQ(out.samples.size(), 1u);
    EXPECT_EQ(out.samples[0].latency_ns, 65'123);
}

TEST(Cyclictest, CountsCyclesThatWereNotPrinted) {
    CyclicOutput out = parse("0:0:10\n0:1:10\n0:5:10\n0:5:10\n1:0:9\n");
    EXPECT_EQ(out.samples.size(), 5u);
    EXPECT_EQ(out.cycle_gaps, 3u);
    EXPECT_EQ(out.cycle_repeats, 1u);
    EXPECT_EQ(out.of_thread(1).size(), 1u);
}

TEST(Cyclictest, TornLastLineIsNoSample) {
    // The program was killed while it printed 1234: `12` would be a wrong latency.
    CyclicOutput out = parse("       0:       0:     103\n       0:       1:      12");
    EXPECT_EQ(out.samples.size(), 1u);
    EXPECT_EQ(out.unparsed_lines, 1u);
}

TEST(Cyclictest, CountsForeignLines) {
    CyclicOutput out = parse("0:0:10\nsomething else\n0:1:x\n");
    EXPECT_EQ(out.samples.size(), 1u);
    EXPECT_EQ(out.unparsed_lines, 2u);
    EXPECT_EQ(out.first_unparsed, "something else");
}

TEST(Cyclictest, ReadsSummary) {
    CyclicOutput out = parse(kSummary);
    ASSERT_EQ(out.summaries.size(), 1u);
    const CyclicSummary& s = out.summaries[0];
    EXPECT_EQ(s.tid, 5634u);
    EXPECT_EQ(s.interval_us, 2777u);
    EXPECT_EQ(s.cycles, 300u);
    EXPECT_EQ(s.min, 14);
    EXPECT_EQ(s.act, 65);
    EXPECT_EQ(s.avg, 68);
    EXPECT_EQ(s.max, 108);
    EXPECT_EQ(out.unparsed_lines, 0u);
}

TEST(Cyclictest, KeepsLastOfRepeatedSummaries) {
    std::string first = "T: 0 ( 7) P: 0 I:1000 C: 10 Min: 1 Act: 2 Avg: 3 Max: 4\n\033[1A";
    std::string last = "T: 0 ( 7) P: 0 I:1000 C: 20 Min: 1 Act: 2 Avg: 3 Max: 9\n";
    CyclicOutput out = parse(first + last);
    ASSERT_EQ(out.summaries.size(), 1u);
    EXPECT_EQ(out.summaries[0].cycles, 20u);
    EXPECT_EQ(out.summaries[0].max, 9);
}

TEST(Cyclictest, HistogramOverflowIsExplicit) {
    CyclicOutput out = parse(kHistogram);
    ASSERT_TRUE(out.histogram.has_value());
    EXPECT_EQ(out.histogram->counts.at(24), std::vector<uint64_t>{2});
    EXPECT_EQ(out.histogram->counted(0), 5u);
    EXPECT_EQ(out.histogram->totals, std::vector<uint64_t>{5});
    EXPECT_EQ(out.histogram->overflows, std::vector<uint64_t>{295});
    EXPECT_EQ(out.unparsed_lines, 0u);
    EXPECT_TRUE(out.samples.empty());
}

TEST(Cyclictest, HistogramOfSeveralThreads) {
    CyclicOutput out = parse(
        "# Histogram\n000007 000001\t000004\n# Total: 000000001 000000004\n"
        "# Histogram Overflows: 00000 00002\n");
    ASSERT_TRUE(out.histogram.has_value());
    EXPECT_EQ(out.histogram->counted(1), 4u);
    EXPECT_EQ(out.histogram->overflows, (std::vector<uint64_t>{0, 2}));
}

TEST(CyclictestCommand, ReadsOptionsInEveryForm) {
    EXPECT_EQ(CyclicCommand::parse("cyclictest -i 2777 -v").interval_us, 2777u);
    EXPECT_EQ(CyclicCommand::parse("cyclictest -i2777").interval_us, 2777u);
    EXPECT_EQ(CyclicCommand::parse("cyclictest --interval=500").interval_us, 500u);
    EXPECT_EQ(CyclicCommand::parse("cyclictest --interval 500").interval_us, 500u);
    EXPECT_EQ(CyclicCommand::parse("cyclictest").interval_us, 1000u);
    EXPECT_TRUE(CyclicCommand::parse("cyclictest -mqv").verbose);
    EXPECT_TRUE(CyclicCommand::parse("cyclictest --verbose").verbose);
    EXPECT_FALSE(CyclicCommand::parse("cyclictest --policy=other -q").verbose);
    EXPECT_TRUE(CyclicCommand::parse("cyclictest -r -v").relative);
    EXPECT_EQ(CyclicCommand::parse("cyclictest -o 10").reduction, 10u);
}

TEST(CyclictestCommand, NotesUnknownPolicy) {
    // The seeds' own recipe says --policy=fair; cyclictest takes it silently as SCHED_OTHER.
    CyclicCommand fair = CyclicCommand::parse("cyclictest --policy=fair -v");
    ASSERT_EQ(fair.notes.size(), 1u);
    EXPECT_NE(fair.notes[0].find("fair"), std::string::npos);
    EXPECT_TRUE(CyclicCommand::parse("cyclictest --policy=other").notes.empty());
    EXPECT_TRUE(CyclicCommand::parse("cyclictest --policy=FIFO").notes.empty());
}

TEST(CyclictestCommand, RefusesANonsenseInterval) {
    EXPECT_THROW(CyclicCommand::parse("cyclictest -i abc"), Failure);
}

}  // namespace
}  // namespace fairswitch
