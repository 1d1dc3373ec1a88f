#include "userspace/graft/function_diff.h"

#include <algorithm>
#include <cctype>

#include "userspace/base/failure.h"
#include "userspace/graft/klp_link.h"

namespace fairswitch {
namespace {

class Describer {
  public:
    Describer(const Object& object, const std::string& origin) : object_(object) {
        for (auto& entry : read_code_tables(object, origin)) {
            entries_[entry.code_section].push_back(std::move(entry));
        }
    }

    FunctionTexts describe(bool tables) const {
        FunctionTexts texts;
        for (const auto& symbol : object_.symbols) {
            if (!symbol.is_function() || !symbol.section) continue;
            texts[symbol.name] = tables ? function(symbol) : code_only(symbol);
        }
        return texts;
    }

  private:
    static bool inside(const Symbol& symbol, uint64_t offset) {
        return offset >= symbol.value && offset < symbol.value + symbol.size;
    }

    std::string function(const Symbol& symbol) const {
        const auto& section = object_.sections[*symbol.section];
        std::string text = hex(masked(section, symbol.value, symbol.size));
        for (const auto& relocation : section.relocations) {
            if (!inside(symbol, relocation.offset)) continue;
            text +=
                fmt::format("\n{:#x} {}", relocation.offset - symbol.value, reference(relocation));
        }
        for (const auto* entry : entries_of(symbol)) {
            text += "\n" + table_entry(*entry, symbol.value);
        }
        return text;
    }

    std::vector<const CodeTableEntry*> entries_of(const Symbol& symbol) const {
        std::vector<const CodeTableEntry*> entries;
        const auto found = entries_.find(*symbol.section);
        if (found == entries_.end()) return entries;
        for (const auto& entry : found->second) {
            if (inside(symbol, entry.code_offset)) entries.push_back(&entry);
        }
        return entries;
    }

    // objtool makes no-ops of some static-key jumps, and drops their relocations.
    std::string code_only(const Symbol& symbol) const {
        const auto& section = object_.sections[*symbol.section];
        std::string bytes = masked(section, symbol.value, symbol.size);
        std::vector<bool> jump(bytes.size(), false);
        for (const auto* entry : entries_of(symbol)) {
            if (object_.sections[entry->table].name != "__jump_table") continue;
            const uint64_t at = entry->code_offset - symbol.value;
            const auto first = static_cast<unsigned char>(bytes[at]);
            const uint64_t length = first == 0xe9 || first == 0x0f ? 5 : 2;
            for (uint64_t i = at; i < at + length && i < bytes.size(); ++i) {
                bytes[i] = '\0';
                jump[i] = true;
            }
        }
        std::map<uint64_t, std::string> references;
        for (const auto* list : {&section.relocations, &section.livepatch_relocations}) {
            for (const auto& relocation : *list) {
                const uint64_t at = relocation.offset - symbol.value;
                if (!inside(symbol, relocation.offset) || jump[at]) continue;
                if (relocation.type != R_X86_64_NONE) references[at] = reference(relocation);
            }
        }
        std::string text = hex(bytes);
        for (const auto& [at, target] : references) text += fmt::format("\n{:#x} {}", at, target);
        return text;
    }

    // Bytes with the relocated fields zeroed.
    std::string masked(const Section& section, uint64_t from, uint64_t size) const {
        if (section.type == SHT_NOBITS) return std::string(size, '\0');
        std::string bytes = section.bytes.substr(from, size);
        for (const auto* list : {&section.relocations, &section.livepatch_relocations}) {
            for (const auto& relocation : *list) {
                for (size_t i = 0; i < field_width(relocation.type); ++i) {
                    const uint64_t at = relocation.offset + i;
                    if (at >= from && at - from < bytes.size()) bytes[at - from] = '\0';
                }
            }
        }
        return bytes;
    }

    static std::string hex(const std::string& bytes) {
        std::string text;
        for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
        return text;
    }

    std::string table_entry(const CodeTableEntry& entry, uint64_t function_start) const {
        const auto& table = object_.sections[entry.table];
        std::string bytes = table.bytes.substr(entry.offset, entry.size);
        if (table.name == "__bug_table")
            bytes[entry.size - 4] = bytes[entry.size - 3] = '\0';  // line
        std::string text =
            fmt::format("{} {:#x} {}", table.name, entry.code_offset - function_start, hex(bytes));
        for (size_t i = 1; i < entry.relocations.size(); ++i) {
            text += " " + reference(entry.relocations[i]);
        }
        return text;
    }

    // PLT32 and PC32 to the same place are the same reference.
    std::string reference(const Relocation& relocation) const {
        const auto& symbol = object_.symbols[relocation.symbol];
        const auto kind = is_pc_relative(relocation.type) ? "pc" : "abs";
        if (!symbol.section)
            return fmt::format("{} {}{:+}", kind, plain(symbol), relocation.addend);
        const auto& section = object_.sections[*symbol.section];
        const auto offset = static_cast<int64_t>(symbol.value) + relocation.addend;
        if (section.is_code()) return code_reference(kind, relocation);
        // Both know lines of the source, and nothing that changes what the code does.
        if (is_sanitizer_symbol(symbol, section)) return fmt::format("{} sanitizer's data", kind);
        if (section.name == "__bug_table") return fmt::format("{} warning", kind);
        const bool named_string = symbol.name.compare(0, kStringSymbol.size(), kStringSymbol) == 0;
        if (named_string)
            return fmt::format("{} \"{}\"", kind, section.bytes.c_str() + symbol.value);
        if ((section.flags & SHF_STRINGS) != 0) {
            return fmt::format("{} \"{}\"", kind, string_at(section, relocation.type, offset));
        }
        if (symbol.type == STT_SECTION || without_number(symbol.name) != symbol.name) {
            return fmt::format("{} {} {}{:+}", kind, content_name(section, symbol),
                               content(section, symbol), relocation.addend);
        }
        return fmt::format("{} {}{:+}", kind, symbol.name, relocation.addend);
    }

    static std::string plain(const Symbol& symbol) {
        std::string name;
        unsigned position = 0;
        return parse_klp_symbol(symbol.name, name, position) ? name : symbol.name;
    }

    // Linkers merge sections, so that a label can only be known by the function around it.
    std::string code_reference(const char* kind, const Relocation& relocation) const {
        const auto& symbol = object_.symbols[relocation.symbol];
        if (symbol.is_function()) {
            return fmt::format("{} {}{:+}", kind, symbol.name, relocation.addend);
        }
        const uint64_t skip = is_pc_relative(relocation.type) ? 4 : 0;
        const uint64_t at = symbol.value + static_cast<uint64_t>(relocation.addend) + skip;
        for (const auto& function : object_.symbols) {
            const bool around = function.is_function() && function.section == symbol.section &&
                                inside(function, at);
            if (around) return fmt::format("{} {}+{:#x}", kind, function.name, at - function.value);
        }
        return fmt::format("{} {}+{:#x}", kind, object_.sections[*symbol.section].name, at);
    }

    // Strings are referred to by their start; a PC-relative field carries the 4 bytes to the end
    // of the instruction.
    static std::string string_at(const Section& section, uint32_t type, int64_t offset) {
        if (type == R_X86_64_PLT32 || type == R_X86_64_PC32) {
            // Tables refer to the start itself, code to start - 4; the start of a string follows
            // a terminator or begins the section.
            const auto is_start = [&](int64_t at) {
                return at == 0 || (at > 0 && at < static_cast<int64_t>(section.bytes.size()) &&
                                   section.bytes[static_cast<size_t>(at - 1)] == '\0');
            };
            if (!is_start(offset) && is_start(offset + 4)) offset += 4;
        }
        if (offset < 0 || offset >= static_cast<int64_t>(section.bytes.size())) return "?";
        return section.bytes.c_str() + offset;
    }

    static std::string content_name(const Section& section, const Symbol& symbol) {
        return symbol.type == STT_SECTION ? section.name : without_number(symbol.name);
    }

    // Writable data counts by name and size only: its content changes at run time anyway.
    std::string content(const Section& section, const Symbol& symbol) const {
        const bool whole = symbol.type == STT_SECTION;
        const uint64_t from = whole ? 0 : symbol.value;
        const uint64_t size = whole ? section.size : symbol.size;
        if (section.is_writable()) return fmt::format("[{} bytes]", size);
        return "[" + hex(masked(section, from, size)) + "]";
    }

    const Object& object_;
    std::map<size_t, std::vector<CodeTableEntry>> entries_;
};

}  // namespace

FunctionTexts function_texts(const Object& object, const std::string& origin) {
    return Describer(object, origin).describe(true);
}

FunctionTexts code_texts(const Object& object, const std::string& origin) {
    return Describer(object, origin).describe(false);
}

uint64_t code_bytes(const Object& object, const std::string& function) {
    uint64_t bytes = 0;
    for (const auto& symbol : object.symbols) {
        if (symbol.is_function() && symbol.section && owner_of(symbol.name) == function) {
            bytes += symbol.size;
        }
    }
    return bytes;
}

std::set<std::string> differing_functions(const FunctionTexts& a, const FunctionTexts& b) {
    std::set<std::string> names;
    for (const auto& [name, text] : a) {
        const auto found = b.find(name);
        if (found == b.end() || found->second != text) names.insert(owner_of(name));
    }
    for (const auto& [name, text] : b) {
        if (a.find(name) == a.end()) names.insert(owner_of(name));
    }
    return names;
}

bool is_own_symbol(const std::string& name) {
    return name.compare(0, 4, "fsw_") == 0 || name.compare(0, 6, "__fsw_") == 0;
}

std::set<std::string> functions_with_gates(const Object& object) {
    std::set<std::string> names;
    for (const auto& symbol : object.symbols) {
        if (!symbol.is_function() || !symbol.section) continue;
        for (const auto& relocation : object.sections[*symbol.section].relocations) {
            if (relocation.offset < symbol.value ||
                relocation.offset >= symbol.value + symbol.size) {
                continue;
            }
            if (is_own_symbol(object.symbols[relocation.symbol].name)) {
                names.insert(owner_of(symbol.name));
                break;
            }
        }
    }
    return names;
}

std::string owner_of(const std::string& function) {
    const auto at = function.rfind(".cold");
    return at == std::string::npos || at == 0 ? function : function.substr(0, at);
}

bool is_clone(const std::string& function) {
    for (const char* mark : {".isra.", ".part.", ".constprop."}) {
        if (function.find(mark) != std::string::npos) return true;
    }
    return false;
}

bool is_sanitizer_symbol(const Symbol& symbol, const Section& section) {
    return is_sanitizer_data(section.name) ||
           symbol.name.compare(0, kSanitizerSymbol.size(), kSanitizerSymbol) == 0;
}

bool is_sanitizer_data(const std::string& section_name) {
    return section_name.compare(0, 14, ".data..Lubsan_") == 0;
}

std::string without_number(const std::string& name) {
    const auto dot = name.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == name.size() || is_clone(name)) {
        return name;
    }
    const bool number = std::all_of(name.begin() + static_cast<long>(dot) + 1, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    return number ? name.substr(0, dot) : name;
}

}  // namespace fairswitch
