// The command line: a table of subcommands, and the one place where failures end.
#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"

namespace fairswitch {
namespace {

// In the order of --help.
constexpr std::array kCommands = {
    make_doctor_command, make_build_command,   make_variants_command, make_load_command,
    make_unload_command, make_status_command,  make_set_command,      make_record_command,
    make_top_command,    make_waker_command,   make_ab_command,       make_report_command,
    make_bisect_command, make_explain_command, make_diff_command,
};

// An option that there isn't, the first of them. CLI11 complains about what is missing before it
// comes to what is too much.
void check_unknown_options(const CLI::App& app) {
    for (const std::string& word : app.remaining(true)) {
        if (word.size() < 2 || word[0] != '-' || word == "--") continue;
        std::string where = app.get_name();
        for (const CLI::App* command : app.get_subcommands()) where += " " + command->get_name();
        fail(Exit::kUsage, "there is no option '{}'; see `{} --help`", word, where);
    }
}

int run(int argc, char** argv) {
    CLI::App app{
        "Switch Linux scheduler patches at run time, record every wakeup-preemption "
        "decision, and compare arms in one boot.",
        "fairswitch"};
    app.set_version_flag("--version", "fairswitch " FAIRSWITCH_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 done, 1 the run failed, 2 wrong usage, 3 this kernel or machine "
        "can't do it.");
    std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
    for (const auto make : kCommands) {
        auto command = make();
        auto* declared = command->declare(app);
        commands.emplace_back(declared, std::move(command));
    }
    // CLI11 would only say that a subcommand is required.
    std::vector<std::string> names;
    for (const auto& command : commands) names.push_back(command.first->get_name());
    if (argc > 1 && argv[1][0] != '-' &&
        std::find(names.begin(), names.end(), argv[1]) == names.end()) {
        fail(Exit::kUsage, "there is no subcommand '{}'; there are: {}", argv[1],
             fmt::join(names, ", "));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) check_unknown_options(app);
        const bool answered = app.exit(error) == 0;
        return static_cast<int>(answered ? Exit::kOk : Exit::kUsage);
    }
    for (const auto& [declared, command] : commands) {
        if (declared->parsed()) return command->run();
    }
    return static_cast<int>(Exit::kUsage);
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    try {
        return fairswitch::run(argc, argv);
    } catch (const fairswitch::Failure& failure) {
        std::cerr << "fairswitch: " << failure.what() << "\n";
        return static_cast<int>(failure.exit());
    } catch (const std::exception& error) {
        std::cerr << "fairswitch: " << error.what() << "\n";
        return static_cast<int>(fairswitch::Exit::kRunFailed);
    }
}
