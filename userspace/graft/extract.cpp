#include "userspace/graft/extract.h"

#include <deque>
#include <map>

#include "userspace/base/failure.h"
#include "userspace/graft/code_tables.h"
#include "userspace/graft/function_diff.h"

namespace fairswitch {
namespace {

bool starts_with(const std::string& text, std::string_view prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

class Extractor {
  public:
    explicit Extractor(const ExtractInput& input)
        : input_(input), gated_(input.gated), tables_(read_code_tables(gated_, "gated fair.c")) {
        section_map_.assign(gated_.sections.size(), std::nullopt);
        symbol_map_.assign(gated_.symbols.size(), std::nullopt);
        result_.object.symbols.emplace_back();  // the null symbol
    }

    Extract run() {
        for (const auto& name : input_.patch_set) take_function(name);
        drain();
        take_tables();
        aim_warnings();
        add_static_call_keys();
        add_no_endbr_notes();
        add_section_note();
        result_.object.index_names();
        return std::move(result_);
    }

  private:
    void take_function(const std::string& name) {
        const auto symbol = gated_.find_symbol(name);
        if (!symbol || !gated_.symbols[*symbol].section) {
            fail(Exit::kImpossible,
                 "{}: the compiler inlined this patched function away everywhere, so there is "
                 "nothing in the kernel to redirect",
                 name);
        }
        take_section(*gated_.symbols[*symbol].section);
        map_symbol(*symbol);
    }

    size_t take_section(size_t index) {
        if (section_map_[index]) return *section_map_[index];
        Section copy = gated_.sections[index];
        copy.relocations.clear();
        section_map_[index] = result_.object.add_section(std::move(copy));
        pending_.push_back(index);
        if (gated_.sections[index].is_code()) note_functions(index);
        return *section_map_[index];
    }

    // Every function in a taken section is named in the result, for stack traces and objtool.
    void note_functions(size_t section) {
        for (size_t i = 0; i < gated_.symbols.size(); ++i) {
            const auto& symbol = gated_.symbols[i];
            if (symbol.section != section || !symbol.is_function()) continue;
            map_symbol(i);
            if (input_.patch_set.count(owner_of(symbol.name)) == 0) {
                result_.copied_functions.push_back(symbol.name);
            }
        }
    }

    size_t map_symbol(size_t index) {
        if (symbol_map_[index]) return *symbol_map_[index];
        Symbol copy = gated_.symbols[index];
        if (copy.section) {
            copy.section = section_map_[*copy.section];
            const bool patched = input_.patch_set.count(copy.name) != 0;
            copy.bind = patched ? STB_GLOBAL : STB_LOCAL;
        }
        symbol_map_[index] = result_.object.add_symbol(std::move(copy));
        return *symbol_map_[index];
    }

    size_t undefined(const std::string& name) {
        const auto [found, fresh] = undefined_.try_emplace(name, 0);
        if (fresh) {
            Symbol symbol;
            symbol.name = name;
            symbol.bind = STB_GLOBAL;
            found->second = result_.object.add_symbol(std::move(symbol));
        }
        return found->second;
    }

    void fill(size_t index) {
        const auto& section = gated_.sections[index];
        std::vector<Relocation> relocations;
        for (auto relocation : section.relocations) {
            const bool branch = section.is_code() && is_branch(section, relocation);
            if (is_warning(relocation)) {
                warnings_.push_back({*section_map_[index], relocations.size()});
                relocations.push_back(relocation);
                continue;
            }
            if (section.is_code() && name_string(relocation)) {
                relocations.push_back(relocation);
                continue;
            }
            relocation.symbol = resolve(relocation.symbol, branch, section.name);
            relocations.push_back(relocation);
        }
        result_.object.sections[*section_map_[index]].relocations = std::move(relocations);
    }

    bool is_warning(const Relocation& relocation) const {
        const auto& symbol = gated_.symbols[relocation.symbol];
        return symbol.section && gated_.sections[*symbol.section].name == "__bug_table";
    }

    // Code that passes its own entry of the bug table: the entry's place in the result is known
    // once all tables are taken.
    void aim_warnings() {
        std::optional<size_t> table_symbol;
        for (const auto& [section, index] : warnings_) {
            auto& relocation = result_.object.sections[section].relocations[index];
            const auto& symbol = gated_.symbols[relocation.symbol];
            const uint64_t skip = is_pc_relative(relocation.type) ? 4 : 0;
            const uint64_t entry = symbol.value + static_cast<uint64_t>(relocation.addend) + skip;
            const auto taken = entry_places_.find({*symbol.section, entry});
            if (taken == entry_places_.end()) {
                fail(Exit::kRunFailed, "a warning refers to an entry of another function");
            }
            if (!table_symbol) {
                table_symbol = add_local(std::string(kWarningsSymbol), table_map_[*symbol.section]);
            }
            relocation.symbol = *table_symbol;
            relocation.addend = static_cast<int64_t>(taken->second - skip);
        }
    }

    // Makes a reference to a string one to a symbol of its own; false if it is to something else.
    bool name_string(Relocation& relocation) {
        const auto& symbol = gated_.symbols[relocation.symbol];
        if (!symbol.section) return false;
        const auto& section = gated_.sections[*symbol.section];
        if ((section.flags & SHF_STRINGS) == 0 || section.is_writable()) return false;
        const uint64_t skip = is_pc_relative(relocation.type) ? 4 : 0;
        const uint64_t at = symbol.value + static_cast<uint64_t>(relocation.addend) + skip;
        if (at >= section.size || (at > 0 && section.bytes[at - 1] != '\0')) return false;
        const std::pair place{*symbol.section, at};
        if (strings_.count(place) == 0) {
            resolve(relocation.symbol, false, section.name);
            const auto name = fmt::format("{}{}", kStringSymbol, strings_.size());
            strings_[place] = add_local(name, *section_map_[place.first]);
            result_.object.symbols[strings_[place]].value = at;
        }
        relocation.symbol = strings_[place];
        relocation.addend = -static_cast<int64_t>(skip);
        return true;
    }

    size_t add_local(std::string name, size_t section) {
        Symbol symbol;
        symbol.name = std::move(name);
        symbol.type = STT_OBJECT;
        symbol.bind = STB_LOCAL;
        symbol.section = section;
        return result_.object.add_symbol(std::move(symbol));
    }

    // The sanitizer's data come along: they are written only to complain once.
    size_t resolve_sanitizer(size_t index, size_t section) {
        if (symbol_map_[index]) return *symbol_map_[index];
        const auto target = take_section(section);
        symbol_map_[index] = add_local(fmt::format("{}{}", kSanitizerSymbol, index), target);
        result_.object.symbols[*symbol_map_[index]].value = gated_.symbols[index].value;
        return *symbol_map_[index];
    }

    // The result's symbol for a reference from `place`.
    size_t resolve(size_t index, bool branch, const std::string& place) {
        const auto& symbol = gated_.symbols[index];
        if (!symbol.section) {
            if (!branch && is_own_symbol(symbol.name)) note_module_data(symbol.name, place);
            return undefined(symbol.name);
        }
        const auto& section = gated_.sections[*symbol.section];
        return section.is_code() ? resolve_code(index, branch, place)
                                 : resolve_data(index, section, place);
    }

    size_t resolve_code(size_t index, bool branch, const std::string& place) {
        const auto& symbol = gated_.symbols[index];
        const bool taken = section_map_[*symbol.section].has_value();
        const bool fragment = !symbol.is_function() || owner_of(symbol.name) != symbol.name;
        if (!taken && !fragment && input_.kernel_has(symbol.name)) return undefined(symbol.name);
        if (!branch && !fragment && !is_table_place_) {
            fail(
                Exit::kImpossible,
                "{} takes the address of {}, which the module has to carry itself: the kernel "
                "would keep a pointer into the module after unload. The graft binds only functions "
                "that the kernel has under their own name",
                place, symbol.name);
        }
        take_section(*symbol.section);
        return map_symbol(index);
    }

    size_t resolve_data(size_t index, const Section& section, const std::string& place) {
        const auto& symbol = gated_.symbols[index];
        if (is_sanitizer_data(section.name)) return resolve_sanitizer(index, *symbol.section);
        const bool named = symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE;
        const bool local = input_.local_names.count(symbol.name) != 0 || !named;
        if (section.is_writable() && !is_once_flag(symbol.name)) {
            if (named && input_.kallsyms.has(symbol.name)) return undefined(symbol.name);
            fail(Exit::kImpossible,
                 "{} uses the variable {} ({}) of fair.c, which this kernel's symbol table doesn't "
                 "name; a copy would have its own value. Expected CONFIG_KALLSYMS_ALL=y",
                 place, named ? symbol.name : "without a name", section.name);
        }
        if (!local && input_.kallsyms.has(symbol.name)) return undefined(symbol.name);
        const bool fresh = !section_map_[*symbol.section];
        take_section(*symbol.section);
        if (fresh) {
            result_.copied_data.push_back(fmt::format("{} {} bytes", section.name, section.size));
        }
        return map_symbol(index);
    }

    void note_module_data(const std::string& name, const std::string& place) {
        result_.module_data.push_back(
            fmt::format("{} in {}: the module's own gate or tap state, "
                        "read and never stored into kernel memory",
                        name, place));
    }

    void drain() {
        while (!pending_.empty()) {
            const size_t section = pending_.front();
            pending_.pop_front();
            fill(section);
        }
    }

    // An entry can bring in more code (a static key's target in a .cold part), which has entries of
    // its own: repeat until nothing is added.
    void take_tables() {
        std::vector<bool> done(tables_.size(), false);
        for (bool added = true; added;) {
            added = false;
            is_table_place_ = true;
            for (size_t i = 0; i < tables_.size(); ++i) {
                if (done[i] || !section_map_[tables_[i].code_section]) continue;
                take_entry(tables_[i]);
                done[i] = added = true;
            }
            is_table_place_ = false;
            drain();
        }
    }

    void take_entry(const CodeTableEntry& entry) {
        const auto& source = gated_.sections[entry.table];
        const auto [found, fresh] = table_map_.try_emplace(entry.table, 0);
        if (fresh) {
            Section copy = source;
            copy.bytes.clear();
            copy.size = 0;
            copy.relocations.clear();
            found->second = result_.object.add_section(std::move(copy));
        }
        const uint64_t at = result_.object.sections[found->second].size;
        entry_places_[{entry.table, entry.offset}] = at;
        for (auto relocation : entry.relocations) {
            const auto& symbol = gated_.symbols[relocation.symbol];
            const bool replacement =
                symbol.section && gated_.sections[*symbol.section].name == ".altinstr_replacement";
            if (replacement) {
                relocation = take_replacement(entry, relocation);
            } else {
                relocation.symbol = resolve(relocation.symbol, false, source.name);
            }
            relocation.offset += at;
            result_.object.sections[found->second].relocations.push_back(relocation);
        }
        auto& table = result_.object.sections[found->second];
        table.bytes += source.bytes.substr(entry.offset, entry.size);
        table.size = table.bytes.size();
    }

    // Copies the bytes of one alternative into the result's own replacement section.
    Relocation take_replacement(const CodeTableEntry& entry, Relocation relocation) {
        const auto& symbol = gated_.symbols[relocation.symbol];
        const auto& source = gated_.sections[*symbol.section];
        const uint64_t from = symbol.value + static_cast<uint64_t>(relocation.addend);
        const auto length = static_cast<unsigned char>(
            gated_.sections[entry.table].bytes[entry.offset + entry.size - 1]);
        if (!replacement_) {
            Section copy = source;
            copy.bytes.clear();
            copy.size = 0;
            copy.relocations.clear();
            replacement_ = result_.object.add_section(std::move(copy));
            Symbol start;
            start.type = STT_SECTION;
            start.section = replacement_;
            replacement_symbol_ = result_.object.add_symbol(start);
        }
        const uint64_t at = result_.object.sections[*replacement_].size;
        for (auto inner : source.relocations) {
            if (inner.offset < from || inner.offset >= from + length) continue;
            inner.symbol = resolve(inner.symbol, is_branch(source, inner), source.name);
            inner.offset = inner.offset - from + at;
            result_.object.sections[*replacement_].relocations.push_back(inner);
        }
        auto& target = result_.object.sections[*replacement_];
        target.bytes += source.bytes.substr(from, length);
        target.size = target.bytes.size();
        relocation.symbol = replacement_symbol_;
        relocation.addend = static_cast<int64_t>(at);
        return relocation;
    }

    // objtool writes a table of static calls and looks up the key beside each trampoline.
    void add_static_call_keys() {
        std::vector<std::string> keys;
        for (const auto& [name, symbol] : undefined_) {
            if (starts_with(name, "__SCT__")) keys.push_back("__SCK__" + name.substr(7));
        }
        for (const auto& key : keys) undefined(key);
    }

    // The livepatch table points to these functions, but ftrace enters them by a return, which
    // needs no ENDBR; objtool is told so (it reads only the relocations of this section).
    void add_no_endbr_notes() {
        Section notes;
        notes.name = ".discard.noendbr";
        notes.align = 8;
        for (const auto& name : input_.patch_set) {
            const auto symbol = gated_.find_symbol(name);
            notes.relocations.push_back({notes.size, R_X86_64_64, 0, map_symbol(*symbol)});
            notes.size += 8;
        }
        notes.bytes.assign(notes.size, '\0');
        result_.object.add_section(std::move(notes));
    }

    void add_section_note() {
        Section note;
        note.name = ".note.GNU-stack";
        result_.object.add_section(std::move(note));
    }

    const ExtractInput& input_;
    const Object& gated_;
    std::vector<CodeTableEntry> tables_;
    std::vector<std::optional<size_t>> section_map_;
    std::vector<std::optional<size_t>> symbol_map_;
    std::map<std::string, size_t> undefined_;
    std::map<size_t, size_t> table_map_;
    std::map<std::pair<size_t, uint64_t>, size_t> strings_;         // section, offset -> symbol
    std::map<std::pair<size_t, uint64_t>, uint64_t> entry_places_;  // table, offset -> offset here
    std::vector<std::pair<size_t, size_t>> warnings_;  // section of the result, its relocation
    std::optional<size_t> replacement_;
    size_t replacement_symbol_ = 0;
    std::deque<size_t> pending_;
    bool is_table_place_ = false;
    Extract result_;
};

}  // namespace

Extract extract(const ExtractInput& input) { return Extractor(input).run(); }

bool is_once_flag(const std::string& name) {
    const auto plain = without_number(name);
    return plain != name && (plain == "__already_done" || plain == "__warned" || plain == "_rs" ||
                             plain == "__func__");
}

bool is_branch(const Section& section, const Relocation& relocation) {
    if (relocation.type != R_X86_64_PLT32 && relocation.type != R_X86_64_PC32) return false;
    if (relocation.offset == 0) return false;
    const auto opcode = static_cast<unsigned char>(section.bytes[relocation.offset - 1]);
    const auto before = relocation.offset < 2
                            ? 0
                            : static_cast<unsigned char>(section.bytes[relocation.offset - 2]);
    return opcode == 0xe8 || opcode == 0xe9 || (before == 0x0f && (opcode & 0xf0) == 0x80);
}

}  // namespace fairswitch
