#include "userspace/graft/verify.h"

#include "userspace/base/failure.h"
#include "userspace/graft/extract.h"
#include "userspace/graft/function_diff.h"
#include "userspace/graft/klp_link.h"

namespace fairswitch {
namespace {

void check_modinfo(const VerifyInput& input) {
    const auto livepatch = modinfo(input.module, "livepatch");
    if (livepatch != "Y") {
        fail(Exit::kRunFailed,
             "the module isn't marked as a livepatch (modinfo livepatch='{}', "
             "expected Y); is MODULE_INFO(livepatch, \"Y\") gone from the module source?",
             livepatch);
    }
    const auto depends = modinfo(input.module, "depends");
    if (!depends.empty()) {
        fail(Exit::kRunFailed,
             "the module depends on {}; a livepatch of the scheduler must depend "
             "on no other module",
             depends);
    }
    const auto vermagic = modinfo(input.module, "vermagic");
    if (vermagic.compare(0, input.release.size() + 1, input.release + " ") != 0) {
        fail(Exit::kRunFailed, "the module is built for '{}', expected kernel {}", vermagic,
             input.release);
    }
}

void check_bound(const VerifyInput& input, const Symbol& symbol) {
    std::string name;
    unsigned position = 0;
    if (!parse_klp_symbol(symbol.name, name, position)) {
        fail(Exit::kRunFailed, "livepatch symbol '{}' isn't of the form .klp.sym.vmlinux.NAME,N",
             symbol.name);
    }
    const size_t count = input.kallsyms.addresses(name).size();
    const bool once = position == 0 ? count == 1 : position <= count;
    if (!once) {
        fail(Exit::kRunFailed,
             "livepatch symbol {} with position {} doesn't resolve to one place: "
             "the kernel has {} symbols of that name",
             name, position, count);
    }
}

void check_symbols(const VerifyInput& input) {
    for (size_t i = 1; i < input.module.symbols.size(); ++i) {
        const auto& symbol = input.module.symbols[i];
        if (symbol.special == kSectionLivepatch) check_bound(input, symbol);
        if (!symbol.is_undefined() || symbol.name.empty()) continue;
        if (input.exported.count(symbol.name) == 0) {
            fail(Exit::kRunFailed, "symbol {} is left undefined and not exported by the kernel",
                 symbol.name);
        }
    }
}

// The livepatch core applies relocations against its symbols, the module loader all others.
void check_relocations(const Object& module) {
    const auto is_bound = [&module](const Relocation& relocation) {
        return module.symbols[relocation.symbol].special == kSectionLivepatch;
    };
    for (const auto& section : module.sections) {
        for (const auto& relocation : section.relocations) {
            if (!is_bound(relocation)) continue;
            fail(Exit::kRunFailed, "{}: relocation at {:#x} against {} is an ordinary one",
                 section.name, relocation.offset, module.symbols[relocation.symbol].name);
        }
        for (const auto& relocation : section.livepatch_relocations) {
            if (is_bound(relocation)) continue;
            fail(Exit::kRunFailed, "{}: livepatch relocation at {:#x} against ordinary symbol {}",
                 section.name, relocation.offset, module.symbols[relocation.symbol].name);
        }
    }
}

// A module address that a replaced function leaves in kernel memory dangles after unload: besides
// calls and jumps it may refer to the module's gates and taps, once flags and constants only.
void check_address(const VerifyInput& input, const Symbol& function, const Relocation& relocation) {
    const auto& section = input.module.sections[*function.section];
    const auto& symbol = input.module.symbols[relocation.symbol];
    if (!symbol.section || is_branch(section, relocation)) return;
    const auto at = symbol.value + static_cast<uint64_t>(relocation.addend);
    const bool itself = symbol.section == function.section && at >= function.value &&
                        at < function.value + function.size;
    const auto& target = input.module.sections[*symbol.section];
    const bool data = target.is_writable() ? is_own_symbol(symbol.name) || is_once_flag(symbol.name)
                                           : !target.is_code();
    if (itself || data) return;
    fail(Exit::kImpossible,
         "{} at {:#x}: takes the address of the module's {} ({}), which would be left in "
         "kernel memory after unload; expected calls, gates and constants only",
         function.name, relocation.offset - function.value, symbol.name, target.name);
}

void check_addresses(const VerifyInput& input) {
    for (const auto& function : input.module.symbols) {
        if (!function.is_function() || !function.section) continue;
        if (input.functions.count(owner_of(function.name)) == 0) continue;
        for (const auto& relocation : input.module.sections[*function.section].relocations) {
            const bool inside = relocation.offset >= function.value &&
                                relocation.offset < function.value + function.size;
            if (inside) check_address(input, function, relocation);
        }
    }
}

// What was compiled is what runs, whatever linker, objtool and our own link step did.
size_t check_code(const VerifyInput& input) {
    const auto expected = code_texts(input.gated, "gated fair.c");
    const auto found = code_texts(input.module, "fairswitch.ko");
    size_t compared = 0;
    for (const auto& [name, text] : expected) {
        if (input.functions.count(owner_of(name)) == 0) continue;
        const auto ours = found.find(name);
        if (ours == found.end()) {
            fail(Exit::kRunFailed, "{}: is missing in the module", name);
        }
        if (ours->second != text) {
            fail(Exit::kRunFailed,
                 "{}: its code in the module isn't what the compiler made of the gated source; "
                 "expected\n{}\nfound\n{}",
                 name, text, ours->second);
        }
        ++compared;
    }
    return compared;
}

}  // namespace

size_t verify(const VerifyInput& input) {
    check_modinfo(input);
    check_symbols(input);
    check_relocations(input.module);
    check_addresses(input);
    return check_code(input);
}

std::string modinfo(const Object& module, const std::string& key) {
    const auto section = module.find_section(".modinfo");
    if (!section) return {};
    const auto& bytes = module.sections[*section].bytes;
    for (size_t at = 0; at < bytes.size();) {
        const auto end = std::min(bytes.find('\0', at), bytes.size());
        const auto entry = bytes.substr(at, end - at);
        if (entry.compare(0, key.size() + 1, key + "=") == 0) return entry.substr(key.size() + 1);
        at = end + 1;
    }
    return {};
}

}  // namespace fairswitch
