// fairswitch variants
#include <memory>

#include "userspace/base/failure.h"
#include "userspace/cli/command.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/graft_options.h"
#include "userspace/cli/scratch_folder.h"
#include "userspace/graft/builder.h"

namespace fairswitch {
namespace {

class VariantsCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "variants", "List the variants that a kernel can have, and which position is stock");
        command->add_option(
            "--out", options_.out,
            "Keep the intermediate steps in this folder (default: they are removed)");
        declare_graft_inputs(command, options_);
        command->add_flag("--diff", diff_,
                          "Also show each variant's change of the source, and compile both "
                          "positions to name the functions whose code differs");
        return command;
    }

    int run() override {
        std::unique_ptr<ScratchFolder> scratch;
        if (options_.out.empty()) {
            scratch = std::make_unique<ScratchFolder>();
            options_.out = scratch->path();
        }
        Builder(options_, stderr).list(diff_);
        return static_cast<int>(Exit::kOk);
    }

  private:
    BuildOptions options_;
    bool diff_ = false;
};

}  // namespace

std::unique_ptr<Command> make_variants_command() { return std::make_unique<VariantsCommand>(); }

}  // namespace fairswitch
