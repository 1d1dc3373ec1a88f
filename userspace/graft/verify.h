// Checks a finished module file before anybody loads it.
#pragma once

#include <set>
#include <string>

#include "userspace/graft/elf_object.h"
#include "userspace/graft/kallsyms.h"

namespace fairswitch {

struct VerifyInput {
    const Object& module;
    const Object& gated;
    std::set<std::string> functions;  // patch set and copied functions
    std::set<std::string> exported;
    const Kallsyms& kallsyms;
    std::string release;
};

// Throws with the first thing that is wrong; returns how many functions were compared.
size_t verify(const VerifyInput& input);

// A KEY=value of .modinfo; empty if absent.
std::string modinfo(const Object& module, const std::string& key);

}  // namespace fairswitch
