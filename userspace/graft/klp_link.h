// Turns references to unexported kernel symbols into livepatch relocations.
//
// kbuild links the module with such symbols undefined; the kernel would refuse it. The livepatch
// core resolves symbols named .klp.sym.vmlinux.NAME,POSITION through kallsyms instead, for
// relocations in sections named .klp.rela.vmlinux.SECTION
// (Documentation/livepatch/module-elf-format.rst).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/elf_object.h"
#include "userspace/graft/kallsyms.h"

namespace fairswitch {

struct BoundSymbol {
    std::string name;
    unsigned position = 0;  // 0: unique in the kernel
    size_t references = 0;
};

struct KlpLinkInput {
    const Kallsyms& kallsyms;
    std::set<std::string> exported;  // Module.symvers
    // Address of an ambiguous name, where the identity proof saw it.
    std::map<std::string, uint64_t> known_addresses;
};

// Rewrites `module` in place; throws if a symbol is unknown or ambiguous.
std::vector<BoundSymbol> klp_link(Object& module, const KlpLinkInput& input);

// The parts of ".klp.sym.vmlinux.NAME,POSITION"; false for another name.
bool parse_klp_symbol(const std::string& name, std::string& ret_name, unsigned& ret_position);

// Names exported by the kernel, from the text of Module.symvers.
std::set<std::string> parse_module_symvers(const std::string& text);

}  // namespace fairswitch
