// The kinds that the kernel writes, by name.
#include <algorithm>
#include <array>
#include <span>

#include "userspace/base/failure.h"
#include "userspace/device/device.h"

namespace fairswitch {
namespace {

struct Kind {
    std::string_view name;
    std::uint32_t number;
};

#define FSW_NAMED_KIND(number, message, MESSAGE) Kind{#message, number},
constexpr std::array kAllKinds = {FSW_KINDS(FSW_NAMED_KIND)};
#undef FSW_NAMED_KIND

// A Brief is a Decision at another detail, and the last of them.
static_assert(kAllKinds.back().number == FSW_KIND_BRIEF);
constexpr std::span kKinds(kAllKinds.data(), kAllKinds.size() - 1);

}  // namespace

std::uint32_t all_kinds() {
    std::uint32_t mask = 0;
    for (const Kind& kind : kKinds) mask |= 1u << kind.number;
    return mask;
}

std::uint32_t parse_kinds(std::string_view text) {
    std::uint32_t mask = 0;
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        const auto found = std::ranges::find(kKinds, item, &Kind::name);
        if (found == kKinds.end()) {
            std::string names;
            for (const Kind& kind : kKinds) names += fmt::format(" {}", kind.name);
            fail(Exit::kUsage, "no record kind `{}`; there are:{}", item, names);
        }
        mask |= 1u << found->number;
        if (item.size() == text.size()) return mask;
        text.remove_prefix(item.size() + 1);
    }
}

std::uint32_t parse_detail(std::string_view text) {
    if (text == "full") return FSW_DETAIL_FULL;
    if (text == "brief") return FSW_DETAIL_BRIEF;
    fail(Exit::kUsage, "no detail `{}`; there are: full brief", text);
}

}  // namespace fairswitch
