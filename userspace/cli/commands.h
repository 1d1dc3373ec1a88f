// Every subcommand, each made in the file of its name.
#pragma once

#include <memory>

#include "userspace/cli/command.h"

namespace fairswitch {

std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_build_command();
std::unique_ptr<Command> make_variants_command();
std::unique_ptr<Command> make_load_command();
std::unique_ptr<Command> make_unload_command();
std::unique_ptr<Command> make_status_command();
std::unique_ptr<Command> make_set_command();
std::unique_ptr<Command> make_record_command();
std::unique_ptr<Command> make_waker_command();
std::unique_ptr<Command> make_top_command();
std::unique_ptr<Command> make_ab_command();
std::unique_ptr<Command> make_bisect_command();
std::unique_ptr<Command> make_report_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_diff_command();

}  // namespace fairswitch
