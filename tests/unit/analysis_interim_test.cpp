#include <gtest/gtest.h>

#include <sstream>

#include "tests/unit/records.h"
#include "userspace/analysis/interim.h"
#include "userspace/analysis/live_latencies.h"

namespace fairswitch {
namespace {

TEST(Interim, TableFitsAndSaysWhatItsVerdictsAreWorth) {
    InterimInput input;
    input.arms = {"stock", "stock (2)", "a name that is longer than its column", "fourth"};
    input.rounds_planned = 40;
    input.seconds_left = 95.4;
    input.alpha = 0.0211;
    for (int arm = 1; arm < 4; ++arm) {
        std::vector<BlockPair> pairs(12);
        for (size_t i = 0; i < pairs.size(); ++i)
            for (int64_t s = 0; s < 50; ++s) {
                pairs[i].first.push_back(60'000 + 100 * ((s * 7 + static_cast<int64_t>(i)) % 50));
                pairs[i].second.push_back(pairs[i].first.back() + (arm == 3 ? 30'000 : s % 3 - 1));
            }
        input.compared.push_back(pairs);
    }
    const std::string text = interim_text(input);
    EXPECT_EQ(text.rfind("after 12 of 40 rounds, about 95 s left;", 0), 0u) << text;
    EXPECT_NE(text.find("at the 2.1 % that"), std::string::npos) << text;
    EXPECT_NE(text.find("(+48 %)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("(+0 %)~"), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_EQ(interim_text({}), "");
}

constexpr uint32_t kTgid = 40, kTid = 41;

std::string wake(uint32_t pid, uint64_t woken, uint64_t expected) {
    auto record = testing::record_template<fsw_wake_record>();
    record.body.stamp.time_ns = woken;
    record.body.pid = pid;
    record.body.source = FSW_WAKE_TIMER;
    record.body.timer.soft_expiry_ns = expected;
    return testing::bytes_of(record);
}

std::string switch_to(uint32_t pid, uint64_t time) {
    auto record = testing::record_template<fsw_switch_record>();
    record.body.stamp.time_ns = time;
    record.body.next_pid = pid;
    return testing::bytes_of(record);
}

TEST(LiveLatencies, WakeupsMeetTheirSwitchesWhateverRingComesFirst) {
    LiveLatencies live;
    // The second CPU's ring: what was switched in there.
    live.add(testing::as_bytes(switch_to(kTid, 1070) + switch_to(kTid, 2900) +
                               switch_to(kTgid, 1500)));
    live.add(testing::as_bytes(wake(kTid, 1050, 1000) + wake(kTid, 2050, 2000) +
                               wake(kTgid, 1400, 1300)));
    // Woken before it had left the CPU: no switch of its own.
    live.add(testing::as_bytes(wake(kTid, 3050, 3000) + wake(kTid, 4050, 4000) +
                               switch_to(kTid, 4100)));
    EXPECT_EQ(live.between(0, 10'000, kTgid), (std::vector<int64_t>{70, 900, 50, 100}));
    EXPECT_EQ(live.between(1001, 3000, kTgid), (std::vector<int64_t>{900}));
    live.forget_before(3000);
    EXPECT_EQ(live.between(0, 10'000, kTgid), (std::vector<int64_t>{50, 100}));
    EXPECT_EQ(live.between(0, 10'000, 0).size(), 2u) << "the main thread's were forgotten too";
}

}  // namespace
}  // namespace fairswitch
