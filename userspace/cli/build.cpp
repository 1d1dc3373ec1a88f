// fairswitch build
#include <memory>

#include "userspace/base/failure.h"
#include "userspace/cli/command.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/graft_options.h"
#include "userspace/graft/builder.h"

namespace fairswitch {
namespace {

class BuildCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "build", "Make fairswitch.ko for a kernel from that kernel's own fair.c");
        command
            ->add_option("--out", options_.out, "Folder for the module and all intermediate steps")
            ->required();
        declare_graft_inputs(command, options_);
        command->add_flag("--force", options_.force,
                          "Build although the source doesn't compile to this kernel's code; "
                          "recorded in the manifest and in every log");
        return command;
    }

    int run() override {
        Builder(options_).run();
        return static_cast<int>(Exit::kOk);
    }

  private:
    BuildOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_build_command() { return std::make_unique<BuildCommand>(); }

}  // namespace fairswitch
