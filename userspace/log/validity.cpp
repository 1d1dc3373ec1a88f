#include "userspace/log/validity.h"

#include <fmt/format.h>

namespace fairswitch {
namespace {

struct Text {
    std::string_view name;
    std::string_view meaning;
};

// In the order of the enum.
constexpr std::array<Text, static_cast<std::size_t>(Badness::kCount)> kTexts = {{
    {"torn_tail", "bytes behind the last whole record: the recorder was stopped while writing"},
    {"framing_lost", "bytes not readable behind a record of impossible length"},
    {"undecodable", "framed records that are no Record message"},
    {"unknown_kind", "records of a kind that this program doesn't know"},
    {"corrupt_frame", "bytes of a zstd frame that can't be unpacked and of what follows it"},
    {"after_end", "records behind the End record, without a header of their own"},
    {"no_end", "End record missing: the recorder was killed or its disk was full"},
    {"foreign_layout", "records decoded the slow way: another version or tool wrote them"},
    {"lost", "records dropped by the kernel because a ring was full or frozen"},
    {"sequence_gap", "sequence numbers that no record of their runqueue has"},
    {"sequence_repeat", "records more than there are sequence numbers on their runqueue"},
    {"books_off", "records by which the recorder's books and the file differ"},
    {"books_unbalanced", "records by which the books' produced isn't stored + dropped"},
}};

}  // namespace

std::string_view name(Badness badness) { return kTexts[static_cast<std::size_t>(badness)].name; }

std::string_view meaning(Badness badness) {
    return kTexts[static_cast<std::size_t>(badness)].meaning;
}

std::string Validity::summary() const {
    std::string result;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] != 0) {
            result += fmt::format("{}: {} {}\n", kTexts[i].name, counts_[i], kTexts[i].meaning);
        }
    }
    return result;
}

bool Validity::whole() const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] != 0 && static_cast<Badness>(i) != Badness::kForeignLayout) return false;
    }
    return true;
}

}  // namespace fairswitch
