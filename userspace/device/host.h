// Which machine this is, and where its CPUs sit: what lets logs of several hosts be told apart and
// their CPUs be compared.
#pragma once

#include <string>

#include "proto/record.pb.h"

namespace fairswitch {

// Fills Header.host_id and Header.topology from the files under `root` ("" is the machine itself).
void describe_host(Header& header, const std::string& root = "");

}  // namespace fairswitch
