// Proves that a compilation of fair.c is the code of a kernel image.
//
// Each function is looked up at its address from kallsyms. Machine code must be equal byte by byte;
// each relocated field must hold what the linker would have put there, that is: the address that it
// leads to must be the address of the very symbol (function, static key, per-CPU variable plus
// offset) or of the very string. What objtool changes between compiler and kernel is accepted
// exactly where a table of the object announces it: the jump of a static key may be a no-op of its
// length, and the call of __fentry__ as well. Static keys are compared through the kernel's own
// __jump_table: code, target and key.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/code_tables.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/image.h"
#include "userspace/graft/kallsyms.h"

namespace fairswitch {

struct Identity {
    size_t compared = 0;
    // Identical functions and their kernel address (as kallsyms gives it).
    std::map<std::string, uint64_t> identical;
    // Others, with the first difference.
    std::map<std::string, std::string> different;
    // Weak functions that another file of the kernel defines for good.
    std::set<std::string> overridden;
    // Functions of the object that the kernel's symbol table doesn't have.
    std::set<std::string> absent;
};

Identity prove_identity(const Object& object, const std::string& origin, const KernelImage& image,
                        const Kallsyms& kallsyms);

// Fails for a function that is to be replaced and isn't identical; `kernel` is its exact name.
[[noreturn]] void refuse_replacement(const Identity& identity, const std::string& function,
                                     const std::string& kernel);

}  // namespace fairswitch
