// Records as a kernel wrote them (real_records.h) say the same on every build.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "proto/record.pb.h"
#include "tests/unit/real_records.h"
#include "tests/unit/records.h"

namespace fairswitch {
namespace {

class RealRecord : public ::testing::TestWithParam<testing::RealCase> {};

TEST_P(RealRecord, SaysTheSameForGood) {
    const std::string bytes = testing::bytes_of_hex(GetParam().hex);
    const Framing frame = framing(testing::as_bytes(bytes));
    ASSERT_EQ(frame.prefix + frame.length, bytes.size());
    Record record;
    ASSERT_TRUE(record.ParseFromString(bytes.substr(static_cast<std::size_t>(frame.prefix))));
    record.clear_void_();
    record.DiscardUnknownFields();  // absent submessages, tagged `void`
    std::string readable = record.ShortDebugString();
    if (readable.ends_with(' ')) readable.pop_back();
    EXPECT_EQ(readable, GetParam().readable);
}

TEST_P(RealRecord, IsReadByOverlay) {
    model::Record record;
    EXPECT_TRUE(overlay(testing::as_bytes(testing::bytes_of_hex(GetParam().hex)), record));
}

INSTANTIATE_TEST_SUITE_P(Kernel612, RealRecord, ::testing::ValuesIn(testing::kRealCases),
                         [](const auto& info) { return std::string(info.param.name); });

// A kind that the kernel gets needs a record of its own here.
TEST(RealRecords, HaveEveryKind) {
    std::set<unsigned> kinds;
    for (const testing::RealCase& real : testing::kRealCases) {
        kinds.insert(static_cast<unsigned char>(testing::bytes_of_hex(real.hex)[2]) >> 3);
    }
#define FSW_CHECK(number, message, MESSAGE) EXPECT_TRUE(kinds.contains(number)) << #message;
    FSW_KINDS(FSW_CHECK)
#undef FSW_CHECK
}

// The values of one, as the analysis sees them.
TEST(RealDecision, OverlayHasItsValues) {
    model::Record record;
    const testing::RealCase& pick = *std::find_if(
        std::begin(testing::kRealCases), std::end(testing::kRealCases),
        [](const testing::RealCase& one) { return std::string_view(one.name) == "Decision"; });
    ASSERT_TRUE(overlay(testing::as_bytes(testing::bytes_of_hex(pick.hex)), record));
    const auto& decision = std::get<model::Decision>(record);
    EXPECT_EQ(decision.path, FSW_PATH_PICK_PREEMPT);
    EXPECT_EQ(decision.wakee->lag_ns, 1259346);
    EXPECT_EQ(decision.curr->lag_ns, -1259346);
    EXPECT_EQ(decision.picked->pid, decision.wakee_pid);
    EXPECT_EQ(decision.queue->avg_vruntime_ns, 5664898364u);
}

}  // namespace
}  // namespace fairswitch
