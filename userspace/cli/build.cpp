// fairswitch build
#include <memory>

#include "userspace/base/failure.h"
#include "userspace/cli/command.h"
#include "userspace/cli/commands.h"
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
        command->add_option("--kdir", options_.kdir,
                            "Kernel headers (default: /lib/modules/RUNNING/build)");
        command->add_option("--source", options_.source,
                            "Kernel source, a tree or a linux-source tarball of the same package "
                            "version (default: /usr/src/linux-source-VERSION[.tar.xz])");
        command->add_option("--image", options_.image,
                            "Kernel image (default: /boot/vmlinuz-RUNNING)");
        command->add_option("--kallsyms", options_.kallsyms,
                            "Kernel symbols, as read by root from /proc/kallsyms (the default)");
        command->add_option("--root", options_.root,
                            "Root folder of the Debian release whose compiler built the kernel, "
                            "if that isn't this one");
        command->add_option("--module-source", options_.module,
                            "fairswitch's module folder (default: $FAIRSWITCH_MODULE, else where "
                            "fairswitch was built)");
        command
            ->add_option("--variants", options_.variants,
                         "Only these variants, so that fewer functions are replaced")
            ->delimiter(',');
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
