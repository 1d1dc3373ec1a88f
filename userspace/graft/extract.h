// Takes the patch set out of the compiled, gated fair.c.
//
// Code is copied section by section, so what runs is what the compiler made of the gated source.
// Everything else that the code refers to stays in the kernel: a function or variable of fair.c
// that isn't taken becomes an undefined symbol, bound to the kernel's own by a livepatch
// relocation.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/elf_object.h"
#include "userspace/graft/kallsyms.h"

namespace fairswitch {

struct ExtractInput {
    const Object& gated;
    std::set<std::string> local_names;  // file-local in the C source
    std::set<std::string> patch_set;
    // Whether the kernel has this function out of line and callable under this very name.
    std::function<bool(const std::string&)> kernel_has;
    const Kallsyms& kallsyms;
};

struct Extract {
    Object object;
    std::vector<std::string> copied_functions;  // besides the patch set
    std::vector<std::string> copied_data;       // read-only data and once flags, with sizes
    std::vector<std::string> module_data;       // allowed references to the module's own data
};

Extract extract(const ExtractInput& input);

// Whether a relocation in code is the target of a call or jump: the only kind of reference to
// module text that leaves no module address in kernel memory.
bool is_branch(const Section& section, const Relocation& relocation);
// State of a WARN_ONCE or a rate limit: a copy costs at most one more message.
bool is_once_flag(const std::string& name);

}  // namespace fairswitch
