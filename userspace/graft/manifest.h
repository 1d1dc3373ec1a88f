// The manifest of a build, in protobuf's text form.
#pragma once

#include <string>

#include "proto/graft.pb.h"
#include "userspace/graft/facts.h"

namespace fairswitch {

// Of a build that stopped early: what it came to find.
Graft make_manifest(const BuildFacts& facts);
std::string manifest_text(const Graft& graft);

}  // namespace fairswitch
