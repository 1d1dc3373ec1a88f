#include "userspace/device/arm.h"

#include <algorithm>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

std::string known_ids(std::span<const Variant> variants) {
    std::string result;
    for (const Variant& variant : variants) {
        result += fmt::format("{}{} (stock: {})", result.empty() ? "" : ", ", variant.id,
                              variant.stock_with ? "with" : "without");
    }
    return result.empty() ? "none" : result;
}

const Variant& find_variant(std::string_view id, std::span<const Variant> variants) {
    const auto found = std::ranges::find(variants, id, &Variant::id);
    if (found == variants.end()) {
        fail(Exit::kUsage, "no variant `{}` in the loaded module; it has: {}", id,
             known_ids(variants));
    }
    return *found;
}

bool position_with(std::string_view item, std::string_view position, const Variant& variant) {
    if (position.empty()) return !variant.stock_with;
    if (position == "=with") return true;
    if (position == "=without") return false;
    fail(Exit::kUsage, "`{}`: a position is `with` or `without`, as in {}=with", item, variant.id);
}

}  // namespace

std::uint32_t stock_positions(std::span<const Variant> variants) {
    std::uint32_t result = 0;
    for (const Variant& variant : variants) {
        if (variant.stock_with) result |= 1u << variant.index;
    }
    return result;
}

ArmSpec parse_arm(std::string_view text, std::span<const Variant> variants) {
    ArmSpec arm{.name = std::string(text), .positions = stock_positions(variants)};
    if (text == "stock") return arm;
    std::uint32_t named = 0;
    while (true) {
        const std::string_view item = text.substr(0, text.find_first_of(",+"));
        if (item.empty()) {
            fail(Exit::kUsage,
                 "arm `{}` has an empty item; expected `stock` or ID[=with|=without], separated by "
                 "commas, of: {}",
                 arm.name, known_ids(variants));
        }
        const std::size_t equals = std::min(item.find('='), item.size());
        const Variant& variant = find_variant(item.substr(0, equals), variants);
        const std::uint32_t bit = 1u << variant.index;
        if (named & bit) fail(Exit::kUsage, "arm `{}` names {} twice", arm.name, variant.id);
        named |= bit;
        const bool with = position_with(item, item.substr(equals), variant);
        arm.positions = with ? arm.positions | bit : arm.positions & ~bit;
        if (item.size() == text.size()) return arm;
        text.remove_prefix(item.size() + 1);
    }
}

std::string describe_positions(std::uint32_t positions, std::span<const Variant> variants) {
    std::string result;
    for (const Variant& variant : variants) {
        result += fmt::format("{}{}={}", result.empty() ? "" : " ", variant.id,
                              positions & (1u << variant.index) ? "with" : "without");
    }
    return result;
}

}  // namespace fairswitch
