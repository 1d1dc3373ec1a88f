// The arms' grammar on the command line:
//
//   stock                     every variant in the running kernel's own position
//   ITEM[,ITEM...]            the rest stock, and these (`+` for `,` where arms stand in a list):
//       ID                      in the position that is not stock
//       ID=with, ID=without     in that position
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairswitch {

// A variant as the loaded module has it.
struct Variant {
    std::uint32_t index = 0;  // its bit in positions
    std::string id;
    bool stock_with = false;
};

struct ArmSpec {
    std::string name;             // as typed
    std::uint32_t positions = 0;  // bit n: variant n is `with`
};

std::uint32_t stock_positions(std::span<const Variant> variants);

// Throws Failure (kUsage) naming the variants there are.
ArmSpec parse_arm(std::string_view text, std::span<const Variant> variants);

// "dequeue-delayed=with lag-clamp=without": every variant, for people.
std::string describe_positions(std::uint32_t positions, std::span<const Variant> variants);

}  // namespace fairswitch
