// What a log carries so that any protobuf tool reads it, this program's sources not at hand.
#pragma once

#include <string>

namespace fairswitch {

// A FileDescriptorSet of proto/record.proto with everything that it imports.
std::string log_schema();

}  // namespace fairswitch
