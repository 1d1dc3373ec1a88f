// Everything that a build found, step by step; the manifest and the summary are made from it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/elf_object.h"
#include "userspace/graft/extract.h"
#include "userspace/graft/function_diff.h"
#include "userspace/graft/identity.h"
#include "userspace/graft/klp_link.h"
#include "userspace/graft/locate.h"
#include "userspace/graft/variants.h"

namespace fairswitch {

struct BuildFacts {
    Kernel kernel;
    Transformation transformation;
    Object stock;
    Object gated;
    FunctionTexts stock_texts;
    FunctionTexts gated_texts;
    Identity identity;
    std::set<std::string> folded_different;              // gated, folded to stock, against stock
    std::map<std::string, std::set<std::string>> flips;  // variant -> functions that it changes
    std::set<std::string> patch_set;
    std::set<std::string> moved;
    std::map<std::string, unsigned> positions;  // patch set: among kernel symbols of that name
    Extract extract;
    std::vector<BoundSymbol> bound;
    bool forced = false;
    uint64_t module_bytes = 0;
    uint64_t elapsed_ns = 0;
};

}  // namespace fairswitch
