#include "userspace/graft/code_tables.h"

#include <algorithm>
#include <array>
#include <set>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

struct TableKind {
    std::string_view name;
    uint64_t entry_bytes;      // 0: one relocation per entry, the size follows
    uint64_t other_bytes = 0;  // in other kernels, if not as above
};

// Sizes as in the kernel's struct jump_entry, bug_entry, exception_table_entry, alt_instr.
constexpr std::array kTables = {
    TableKind{"__jump_table", 16},
    TableKind{"__bug_table", 12, 16},  // from 7.0 with a pointer to the message's format
    TableKind{"__ex_table", 12},
    TableKind{"__mcount_loc", 8},
    TableKind{".altinstructions", 14},
    TableKind{".smp_locks", 4},
    TableKind{".discard.reachable", 0},
    TableKind{".discard.unreachable", 0},
    TableKind{".discard.retpoline_safe", 0},
    TableKind{".discard.instr_begin", 0},
    TableKind{".discard.instr_end", 0},
    TableKind{".discard.annotate_insn", 8},
};

const TableKind* kind_of(const std::string& name) {
    const auto found = std::find_if(kTables.begin(), kTables.end(),
                                    [&](const TableKind& kind) { return kind.name == name; });
    return found == kTables.end() ? nullptr : &*found;
}

// Whether an entry of `size` bytes starts with a reference to code, all along the table.
bool fits(const Object& object, const Section& section, uint64_t size) {
    std::set<uint64_t> code;
    for (const auto& relocation : section.relocations) {
        const auto& symbol = object.symbols[relocation.symbol];
        if (symbol.section && object.sections[*symbol.section].is_code()) {
            code.insert(relocation.offset);
        }
    }
    for (uint64_t at = 0; at < section.size; at += size) {
        if (code.count(at) == 0) return false;
    }
    return section.size % size == 0;
}

uint64_t entry_size(const TableKind& kind, const Object& object, const Section& section) {
    if (kind.entry_bytes == 0) {
        return section.relocations.empty() ? 0 : section.size / section.relocations.size();
    }
    const bool other = kind.other_bytes != 0 && !fits(object, section, kind.entry_bytes);
    return other ? kind.other_bytes : kind.entry_bytes;
}

class TableReader {
  public:
    TableReader(const Object& object, const std::string& origin)
        : object_(object), origin_(origin) {}

    std::vector<CodeTableEntry> read() {
        for (size_t i = 0; i < object_.sections.size(); ++i) {
            const auto* kind = kind_of(object_.sections[i].name);
            if (kind != nullptr && object_.sections[i].size != 0) read_table(i, *kind);
        }
        return std::move(entries_);
    }

  private:
    void read_table(size_t index, const TableKind& kind) {
        const auto& section = object_.sections[index];
        const uint64_t size = entry_size(kind, object_, section);
        if (size == 0 || section.size % size != 0) refuse(section, size);
        auto relocations = section.relocations;
        std::sort(relocations.begin(), relocations.end(),
                  [](const auto& a, const auto& b) { return a.offset < b.offset; });
        auto next = relocations.begin();
        for (uint64_t at = 0; at < section.size; at += size) {
            CodeTableEntry entry{index, at, size, 0, 0, {}};
            for (; next != relocations.end() && next->offset < at + size; ++next) {
                entry.relocations.push_back(*next);
                entry.relocations.back().offset -= at;
            }
            locate_code(section, entry);
            entries_.push_back(std::move(entry));
        }
    }

    void locate_code(const Section& section, CodeTableEntry& entry) const {
        if (entry.relocations.empty() || entry.relocations.front().offset != 0) {
            refuse(section, entry.size);
        }
        const auto& first = entry.relocations.front();
        const auto& symbol = object_.symbols[first.symbol];
        if (!symbol.section) refuse(section, entry.size);
        entry.code_section = *symbol.section;
        entry.code_offset = symbol.value + static_cast<uint64_t>(first.addend);
    }

    [[noreturn]] void refuse(const Section& section, uint64_t size) const {
        fail(Exit::kImpossible,
             "{}: table {} of {} bytes isn't made of {}-byte entries that begin with a code "
             "address; this kernel's layout is not known to the graft",
             origin_, section.name, section.size, size);
    }

    const Object& object_;
    const std::string& origin_;
    std::vector<CodeTableEntry> entries_;
};

}  // namespace

bool is_code_table(const std::string& section_name) { return kind_of(section_name) != nullptr; }

std::vector<CodeTableEntry> read_code_tables(const Object& object, const std::string& origin) {
    return TableReader(object, origin).read();
}

}  // namespace fairswitch
