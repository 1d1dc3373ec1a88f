// Whether two logs are of one kernel, module, machine and load, so that only the arm differs.
#pragma once

#include <string>
#include <vector>

#include "proto/record.pb.h"

namespace fairswitch {

// One line for each thing that differs; empty: nothing that the headers tell. Arms, names of output
// files, host, boot and times are free to differ.
std::vector<std::string> differing_conditions(const Header& a, const Header& b);

}  // namespace fairswitch
