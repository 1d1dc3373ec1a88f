// fairswitch load
#include <bit>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/progress.h"
#include "userspace/cli/transition.h"
#include "userspace/device/loaded_graft.h"
#include "userspace/device/loading.h"
#include "userspace/device/run_control.h"

namespace fairswitch {
namespace {

class LoadCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "load", "Load the module and wait until the kernel has changed over to it");
        command->add_option("MODULE", path_, "Module made by `fairswitch build`")
            ->capture_default_str();
        command
            ->add_option("--timeout", timeout_s_,
                         "Seconds to wait for the transition before it is reversed")
            ->check(CLI::Range(1, 3600))
            ->capture_default_str();
        command
            ->add_option("--ring-kb", ring_kb_,
                         "Size of each CPU's ring in KiB, a power of two (default: the module's)")
            ->check(CLI::Range(64, 1 << 20))
            ->check([](const std::string& text) {
                const bool power = std::has_single_bit(std::stoul(text));
                return power ? std::string() : text + " is no power of two";
            });
        command->footer(
            "Every arm is stock after loading. The load is never forced: when tasks hold "
            "it up too long, it is taken back.");
        return command;
    }

    int run() override {
        const ModuleFile module = read_module_file(path_);
        check_loadable(module);
        RunControl control;
        const Livepatch livepatch(kModuleName);
        insert_module(module, ring_kb_ == 0 ? "" : fmt::format("ring_kb={}", ring_kb_));
        const Transition transition =
            watch_transition(livepatch, std::chrono::seconds(timeout_s_), control, "loading");
        if (!transition.done) take_back(livepatch, transition, control);
        keep_graft(path_);
        fmt::print("loaded {} in {:.1f} s; patched:", path_, transition.elapsed_s);
        for (const std::string& function : livepatch.functions()) fmt::print(" {}", function);
        fmt::print("\n");
        return static_cast<int>(Exit::kOk);
    }

  private:
    [[noreturn]] void take_back(const Livepatch& livepatch, const Transition& late,
                                RunControl& control) {
        const std::string why =
            late.interrupted
                ? std::string("interrupted")
                : fmt::format("not done within {} s; held up by: {}", timeout_s_, late.held_up_by);
        livepatch.set_enabled(false);
        const Transition back =
            watch_transition(livepatch, std::chrono::seconds(timeout_s_), control, "taking back");
        if (!back.done) {
            fail(Exit::kRunFailed,
                 "loading was {}; taking it back is held up as well, by: {}; the kernel goes on "
                 "trying: `fairswitch unload` later",
                 why, back.held_up_by);
        }
        remove_module();
        fail(
            Exit::kRunFailed,
            "loading was {}; it was taken back and the module removed: end or wake those tasks, or "
            "give more --timeout",
            why);
    }

    std::string path_ = "fairswitch.ko";
    int timeout_s_ = 45;
    unsigned ring_kb_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_load_command() { return std::make_unique<LoadCommand>(); }

}  // namespace fairswitch
