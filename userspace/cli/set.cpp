// fairswitch set
#include <iostream>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/device/device.h"
#include "userspace/device/proc_files.h"
#include "userspace/device/run_control.h"

namespace fairswitch {
namespace {

constexpr std::uint32_t kOwnArm = 1;
// In somebody else's session, whose own arms count from 1: no number of theirs, so that their log
// tells a swap from outside. Up to seven variants, each combination has a number of its own; the
// Swap records tell the positions in any case.
constexpr std::uint32_t kOutsideArms = 128;
constexpr std::uint32_t kOutsideMask = 127;

class SetCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command =
            app.add_subcommand("set", "Put an arm in force, for as long as a session lasts");
        command
            ->add_option("ARM", arm_,
                         "`stock`, or variants joined by ',' or '+': ID (the position that isn't "
                         "stock), ID=with, ID=without; the others are stock")
            ->required();
        command->add_option("COMMAND", command_, "Behind `--`: hold the arm while this runs");
        command->footer(
            "While another process has a session (record, ab), sets the arm there and returns.\n"
            "Else begins a session of its own and holds it until Ctrl-C or until COMMAND ends; "
            "then "
            "every variant is stock again.\n"
            "Example: fairswitch set dequeue-delayed,lag-clamp -- hackbench -g 1");
        return command;
    }

    int run() override {
        Device device;
        const ArmSpec arm = parse_arm(arm_, device.variants());
        if (const fsw_status status = device.status(); status.owner_pid != 0) {
            return set_outside(device, status, arm);
        }
        RunControl control;
        Session session(std::move(device));
        put(session.device(), arm, kOwnArm);
        if (!command_.empty()) {
            control.prepare(command_);
            control.go();
        } else {
            std::cerr << "held until Ctrl-C\n";
        }
        return hold(session, control);
    }

  private:
    static void put(const Device& device, const ArmSpec& arm, std::uint32_t number) {
        const fsw_set set = device.set(arm.name == "stock" ? 0 : number, arm.positions);
        fmt::print(stderr,
                   "arm {} ({}), generation {}: swapped in {:.1f} us, {} delayed in flight\n",
                   arm.name, describe_positions(arm.positions, device.variants()), set.generation,
                   static_cast<double>(set.end_ns - set.begin_ns) / 1e3, set.delayed_in_flight);
    }

    int set_outside(const Device& device, const fsw_status& status, const ArmSpec& arm) const {
        const std::string owner = process_name(static_cast<pid_t>(status.owner_pid));
        if (!command_.empty()) {
            fail(Exit::kUsage,
                 "{} has the session, so this can't hold an arm for a COMMAND; leave COMMAND away "
                 "to "
                 "set the arm there, or end that session",
                 owner);
        }
        put(device, arm, kOutsideArms + (arm.positions & kOutsideMask));
        fmt::print(stderr, "in the session of {}\n", owner);
        return static_cast<int>(Exit::kOk);
    }

    static int hold(Session& session, RunControl& control) {
        constexpr std::chrono::milliseconds kCheck(200);
        RunControl::Event event;
        while ((event = control.wait(kCheck)) == RunControl::Event::kNone) session.check_alive();
        control.end_command();
        if (const std::string trouble = control.command_trouble();
            event == RunControl::Event::kCommandEnded && !trouble.empty()) {
            fail(Exit::kRunFailed, "{}", trouble);
        }
        return static_cast<int>(Exit::kOk);
    }

    std::string arm_;
    std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> make_set_command() { return std::make_unique<SetCommand>(); }

}  // namespace fairswitch
