// Whom to watch, as people name them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fairswitch {

// "1234" is that process; anything else is every process of that name. Throws Failure when there is
// none, or when this is another pid namespace than the kernel's records speak of.
std::vector<pid_t> find_processes(const std::string& pid_or_name);

}  // namespace fairswitch
