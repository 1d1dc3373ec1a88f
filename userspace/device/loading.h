// Puts the module into the kernel and takes it out again, transition included.
#pragma once

#include <chrono>
#include <string>

#include "userspace/device/livepatch.h"
#include "userspace/device/module_file.h"

namespace fairswitch {

inline constexpr const char* kModuleName = "fairswitch";

// Refuses, with what to do, whatever can be known to fail: no root, no livepatch support, a module
// of another kernel or that is no livepatch, ftrace off, loaded already, another livepatch on the
// same functions.
void check_loadable(const ModuleFile& module);

// finit_module(); the transition has begun when it returns.
void insert_module(const ModuleFile& module, const std::string& parameters);

// delete_module(); fails while anything holds the module.
void remove_module();

}  // namespace fairswitch
