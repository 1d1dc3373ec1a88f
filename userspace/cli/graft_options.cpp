#include "userspace/cli/graft_options.h"

namespace fairswitch {

void declare_graft_inputs(CLI::App* command, BuildOptions& options) {
    command->add_option("--kdir", options.kdir,
                        "Kernel headers (default: /lib/modules/RUNNING/build)");
    command->add_option("--source", options.source,
                        "Kernel source, a tree or a linux-source tarball of the same package "
                        "version (default: /usr/src/linux-source-VERSION[.tar.xz])");
    command->add_option("--image", options.image, "Kernel image (default: /boot/vmlinuz-RUNNING)");
    command->add_option("--kallsyms", options.kallsyms,
                        "Kernel symbols, as read by root from /proc/kallsyms (the default)");
    command->add_option("--root", options.root,
                        "Root folder of the Debian release whose compiler built the kernel, "
                        "if that isn't this one");
    command->add_option("--module-source", options.module,
                        "fairswitch's module folder (default: $FAIRSWITCH_MODULE, else where "
                        "fairswitch was built)");
    command
        ->add_option("--variants", options.variants,
                     "Only these variants, so that fewer functions are replaced")
        ->delimiter(',');
}

}  // namespace fairswitch
