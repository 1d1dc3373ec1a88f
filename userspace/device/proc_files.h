// Small files of /proc and /sys, and what a pid is called there.
#pragma once

#include <sys/types.h>

#include <string>

namespace fairswitch {

// "pid 123 (bash)", or "pid 123 (gone)".
std::string process_name(pid_t pid);

// The first line of a small file, or empty if it can't be read.
std::string first_line(const std::string& path);
// All of a small file, or empty.
std::string whole_file(const std::string& path);

}  // namespace fairswitch
