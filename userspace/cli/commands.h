// Every subcommand, each made in the file of its name.
#pragma once

#include <memory>

#include "userspace/cli/command.h"

namespace fairswitch {

std::unique_ptr<Command> make_build_command();

}  // namespace fairswitch
