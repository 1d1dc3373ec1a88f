// What a log's filter let through, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/record.pb.h"

namespace fairswitch {

// "pid 12, CPUs 0,2-3, 1 in 10"; empty without a filter.
std::string filter_text(const Filter& filter);

// A Path as it is named on the command line: PATH_PICK_KEEP is "pick-keep", one without a name
// "path 77".
std::string path_name(int path);

// "0,2-3" of numbers in any order.
std::string list_text(std::vector<std::uint32_t> numbers);

}  // namespace fairswitch
