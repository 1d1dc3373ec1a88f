// The kernel that `build` and `variants` work on.
#pragma once

#include <CLI/CLI.hpp>

#include "userspace/graft/locate.h"

namespace fairswitch {

// Declares the options that say where a kernel's parts are; by default the running kernel's.
void declare_graft_inputs(CLI::App* command, BuildOptions& options);

}  // namespace fairswitch
