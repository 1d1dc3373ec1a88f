// Others who have their hands on the functions that fairswitch replaces.
#pragma once

#include <set>
#include <string>

#include "userspace/doctor/finding.h"
#include "userspace/doctor/subject.h"

namespace fairswitch {

// What a loaded fairswitch replaces; empty if none is loaded.
std::set<std::string> loaded_functions(const Subject& subject);

Finding check_livepatches(const Subject& subject);
Finding check_kprobes(const Subject& subject);
Finding check_ftrace_users(const Subject& subject);

}  // namespace fairswitch
