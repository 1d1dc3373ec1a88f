// fairswitch doctor
#include "userspace/doctor/doctor.h"

#include <memory>

#include "userspace/base/failure.h"
#include "userspace/cli/command.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/graft_options.h"
#include "userspace/cli/scratch_folder.h"

namespace fairswitch {
namespace {

class DoctorCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "doctor", "Check whether fairswitch can work here, and say what to do where it can't");
        declare_graft_inputs(command, options_.build);
        command
            ->add_option("--module", options_.module,
                         "Check for loading this module, instead of building one")
            ->check(CLI::ExistingFile);
        command->add_flag("--quick", options_.quick,
                          "Don't compile fair.c: no identity figures, no verdict per variant");
        command->footer(
            "Changes nothing. With the options that name another kernel, that kernel's "
            "configuration is checked and the running machine is left alone.\n"
            "Exit code: 0 if fairswitch can work, 3 if not, with the reasons on the last lines.");
        return command;
    }

    int run() override {
        const ScratchFolder scratch;
        options_.build.out = scratch.path();
        const auto diagnosis = diagnose(options_);
        fmt::print("{}", screen(diagnosis));
        return static_cast<int>(diagnosis.can_work() ? Exit::kOk : Exit::kImpossible);
    }

  private:
    DoctorOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace fairswitch
