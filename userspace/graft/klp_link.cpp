#include "userspace/graft/klp_link.h"

#include <charconv>
#include <sstream>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr std::string_view kPrefix = ".klp.sym.vmlinux.";

unsigned position_of(const std::string& name, const KlpLinkInput& input) {
    const auto& addresses = input.kallsyms.addresses(name);
    if (addresses.size() == 1) return 0;
    const auto known = input.known_addresses.find(name);
    if (known == input.known_addresses.end()) {
        fail(
            Exit::kImpossible,
            "{}: {} kernel symbols have this name and nothing tells which one is meant; expected a "
            "unique name, or a function that the identity proof located",
            name, addresses.size());
    }
    const auto position = input.kallsyms.position(name, known->second);
    if (!position) {
        fail(Exit::kImpossible,
             "{}: the identity proof found it at {:#x}, where /proc/kallsyms has "
             "no such symbol",
             name, known->second);
    }
    return *position;
}

// Moves the relocations of `section` that refer to bound symbols; counts them per symbol.
void move_relocations(Section& section, std::map<size_t, size_t>& ret_references) {
    std::vector<Relocation> kept;
    for (const auto& relocation : section.relocations) {
        const auto found = ret_references.find(relocation.symbol);
        if (found == ret_references.end()) {
            kept.push_back(relocation);
        } else {
            section.livepatch_relocations.push_back(relocation);
            ++found->second;
        }
    }
    section.relocations = std::move(kept);
}

}  // namespace

std::vector<BoundSymbol> klp_link(Object& module, const KlpLinkInput& input) {
    std::map<size_t, size_t> references;  // symbol -> number of relocations
    std::string unknown;
    for (size_t i = 1; i < module.symbols.size(); ++i) {
        const auto& symbol = module.symbols[i];
        if (!symbol.is_undefined() || symbol.name.empty()) continue;
        if (input.exported.count(symbol.name) != 0) continue;
        if (input.kallsyms.has(symbol.name)) {
            references.emplace(i, 0);
        } else {
            unknown += (unknown.empty() ? "" : ", ") + symbol.name;
        }
    }
    if (!unknown.empty()) {
        fail(
            Exit::kImpossible,
            "the module refers to symbols that neither the module defines nor this kernel has: {}; "
            "check that the kernel's symbols and the source belong to the same kernel",
            unknown);
    }
    for (auto& section : module.sections) move_relocations(section, references);
    std::vector<BoundSymbol> bound;
    for (const auto& [index, count] : references) {
        auto& symbol = module.symbols[index];
        const BoundSymbol entry{symbol.name, position_of(symbol.name, input), count};
        symbol.name = fmt::format("{}{},{}", kPrefix, entry.name, entry.position);
        symbol.special = kSectionLivepatch;
        bound.push_back(entry);
    }
    module.index_names();
    return bound;
}

bool parse_klp_symbol(const std::string& name, std::string& ret_name, unsigned& ret_position) {
    const auto comma = name.rfind(',');
    if (name.compare(0, kPrefix.size(), kPrefix) != 0 || comma == std::string::npos) return false;
    ret_name = name.substr(kPrefix.size(), comma - kPrefix.size());
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + comma + 1, end, ret_position);
    return parsed.ec == std::errc() && parsed.ptr == end && !ret_name.empty();
}

std::set<std::string> parse_module_symvers(const std::string& text) {
    std::set<std::string> names;
    std::istringstream lines(text);
    std::string crc;
    std::string name;
    std::string module;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        // Symbols of other modules can't be used: a livepatch must not depend on a module.
        if (fields >> crc >> name >> module && module == "vmlinux") names.insert(name);
    }
    return names;
}

}  // namespace fairswitch
