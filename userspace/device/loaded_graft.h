// Which graft is loaded: `load` keeps the manifest that stands beside the module, so that every log
// says how its module was made, a forced identity proof included.
#pragma once

#include <string>

namespace fairswitch {

// Copies graft.textproto from beside the module to /run/fairswitch; without one, forgets the last.
void keep_graft(const std::string& module_path);
void forget_graft();

// The manifest in `named`, or with an empty name the one that was kept; "" if there is none. Throws
// Failure (kUsage) when a named file can't be read.
std::string graft_manifest(const std::string& named);

}  // namespace fairswitch
