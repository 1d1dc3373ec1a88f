#include <gtest/gtest.h>

#include "fairswitch/device.h"
#include "userspace/base/failure.h"
#include "userspace/device/arm.h"
#include "userspace/device/device.h"

namespace fairswitch {
namespace {

// As on a kernel where the second is stock.
const std::vector<Variant> kVariants = {
    {.index = 0, .id = "dequeue-delayed", .stock_with = false},
    {.index = 1, .id = "lag-clamp", .stock_with = true},
    {.index = 4, .id = "requeue-clock", .stock_with = false},
};

std::string refusal(std::string_view text) {
    try {
        parse_arm(text, kVariants);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage) << text;
        return failure.what();
    }
    return "";
}

TEST(Arm, StockNamesEveryStockPosition) {
    EXPECT_EQ(stock_positions(kVariants), 0b10u);
    EXPECT_EQ(parse_arm("stock", kVariants).positions, 0b10u);
    EXPECT_EQ(parse_arm("stock", {}).positions, 0u);
}

TEST(Arm, AnIdAloneIsThePositionThatIsNotStock) {
    EXPECT_EQ(parse_arm("dequeue-delayed", kVariants).positions, 0b11u);
    EXPECT_EQ(parse_arm("lag-clamp", kVariants).positions, 0b00u);
    EXPECT_EQ(parse_arm("requeue-clock", kVariants).positions, 0b10010u);
    EXPECT_EQ(parse_arm("lag-clamp,dequeue-delayed", kVariants).positions, 0b01u);
    EXPECT_EQ(parse_arm("lag-clamp+dequeue-delayed", kVariants).positions, 0b01u);
}

TEST(Arm, PositionsCanBeSpelledOut) {
    EXPECT_EQ(parse_arm("dequeue-delayed=with", kVariants).positions, 0b11u);
    EXPECT_EQ(parse_arm("dequeue-delayed=without", kVariants).positions, 0b10u);
    EXPECT_EQ(parse_arm("lag-clamp=without,requeue-clock=with", kVariants).positions, 0b10000u);
    // All of stock by another name, as an A/A run wants it.
    EXPECT_EQ(parse_arm("lag-clamp=with", kVariants).positions, stock_positions(kVariants));
    EXPECT_EQ(parse_arm("lag-clamp=with", kVariants).name, "lag-clamp=with");
}

TEST(Arm, RefusalsNameWhatThereIs) {
    for (const char* text : {"lag-clam", "Stock", "stock,lag-clamp", "dequeue_delayed"}) {
        EXPECT_NE(refusal(text).find("dequeue-delayed (stock: without), lag-clamp (stock: with)"),
                  std::string::npos)
            << text;
    }
    EXPECT_NE(refusal("lag-clamp=on").find("`with` or `without`"), std::string::npos);
    EXPECT_NE(refusal("lag-clamp=").find("`with` or `without`"), std::string::npos);
    EXPECT_NE(refusal("lag-clamp,lag-clamp=with").find("twice"), std::string::npos);
    for (const char* text : {"", ",", "lag-clamp,", ",lag-clamp", "lag-clamp,,requeue-clock"}) {
        EXPECT_NE(refusal(text).find("empty item"), std::string::npos) << text;
    }
}

TEST(Arm, DescribesEveryVariant) {
    EXPECT_EQ(describe_positions(0b10000, kVariants),
              "dequeue-delayed=without lag-clamp=without requeue-clock=with");
}

TEST(Kinds, ByName) {
    EXPECT_EQ(parse_kinds("decision"), 1u << FSW_KIND_DECISION);
    EXPECT_EQ(parse_kinds("swap,lost"), 1u << FSW_KIND_SWAP | 1u << FSW_KIND_LOST);
    EXPECT_EQ(all_kinds() & (1u << FSW_KIND_PAD), 0u);
    EXPECT_EQ(all_kinds() & (1u << FSW_KIND_BRIEF), 0u);
    EXPECT_EQ(parse_kinds("decision,requeue,delay,wake,switch,task,swap,lost,marker"), all_kinds());
    EXPECT_THROW(parse_kinds("decisions"), Failure);
    EXPECT_THROW(parse_kinds(""), Failure);
    EXPECT_THROW(parse_kinds("decision,"), Failure);
}

}  // namespace
}  // namespace fairswitch
