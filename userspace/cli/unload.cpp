// fairswitch unload
#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/transition.h"
#include "userspace/device/device.h"
#include "userspace/device/loaded_graft.h"
#include "userspace/device/loading.h"
#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

class UnloadCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "unload", "Give the kernel its own functions back and remove the module");
        command->add_option("--timeout", timeout_s_, "Seconds to wait for the transition")
            ->check(CLI::Range(1, 3600))
            ->capture_default_str();
        return command;
    }

    int run() override {
        const Livepatch livepatch(kModuleName);
        if (!livepatch.present() && !module_present()) {
            fail(Exit::kImpossible, "the module is not loaded; there is nothing to unload");
        }
        refuse_in_session();
        if (livepatch.present()) disable(livepatch);
        remove_module();
        forget_graft();
        fmt::print("unloaded\n");
        return static_cast<int>(Exit::kOk);
    }

  private:
    static bool module_present() { return !first_line("/sys/module/fairswitch/initstate").empty(); }

    // The descriptor is closed again before the module is removed: it holds it.
    static void refuse_in_session() {
        const fsw_status status = Device().status();
        if (status.owner_pid == 0) return;
        fail(Exit::kRunFailed, "{} has a session; end it first",
             process_name(static_cast<pid_t>(status.owner_pid)));
    }

    void disable(const Livepatch& livepatch) {
        RunControl control;
        // Disabled already, but not yet through: only wait. Writing again would reverse it.
        if (livepatch.enabled()) livepatch.set_enabled(false);
        const Transition transition =
            watch_transition(livepatch, std::chrono::seconds(timeout_s_), control, "unloading");
        if (transition.done) return;
        fail(Exit::kRunFailed,
             "unloading was {}; held up by: {}; arms are stock and the kernel goes on trying: run "
             "`fairswitch unload` again later",
             transition.interrupted ? std::string("interrupted")
                                    : fmt::format("not done within {} s", timeout_s_),
             transition.held_up_by);
    }

    int timeout_s_ = 45;
};

}  // namespace

std::unique_ptr<Command> make_unload_command() { return std::make_unique<UnloadCommand>(); }

}  // namespace fairswitch
