// fairswitch status
#include <algorithm>
#include <iterator>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/device/device.h"
#include "userspace/device/livepatch.h"
#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string result;
    for (const std::string& word : words) result += (result.empty() ? "" : " ") + word;
    return result.empty() ? "none" : result;
}

void print_livepatch(const Livepatch& livepatch) {
    const bool enabled = livepatch.enabled();
    if (livepatch.in_transition()) {
        fmt::print("livepatch:  in transition to {}; held up by: {}\n",
                   enabled ? "enabled" : "disabled", describe(livepatch.hold_ups()));
    } else {
        fmt::print("livepatch:  {}\n", enabled ? "enabled" : "disabled");
    }
    fmt::print("functions:  {}\n", joined(livepatch.functions()));
}

void print_others(const Livepatch& own) {
    const std::vector<std::string> ours = own.functions();
    for (const std::string& name : livepatch_names()) {
        if (name == own.name()) continue;
        std::vector<std::string> both;
        const std::vector<std::string> theirs = Livepatch(name).functions();
        std::ranges::set_intersection(ours, theirs, std::back_inserter(both));
        if (!both.empty()) {
            fmt::print(
                "WARNING:    livepatch {} also patches {}: the one loaded last is in force\n", name,
                joined(both));
        }
    }
}

void print_session(const Device& device, const fsw_status& status) {
    fmt::print("state:      {}\n", status.state == FSW_STATE_OPEN
                                       ? "open: arms can be set"
                                       : "closed: not patched, or in transition");
    fmt::print("arm:        {}, generation {}\n",
               status.arm == 0 ? "0 (stock)" : std::to_string(status.arm), status.generation);
    for (const Variant& variant : device.variants()) {
        fmt::print("  {:<20} {:<8} (stock: {})\n", variant.id,
                   status.positions & (1u << variant.index) ? "with" : "without",
                   variant.stock_with ? "with" : "without");
    }
    if (status.owner_pid != 0) {
        fmt::print("session:    {}, lease {} ms, {} watched\n",
                   process_name(static_cast<pid_t>(status.owner_pid)), status.lease_ms,
                   status.watched);
    } else {
        fmt::print("session:    none; last end: {}\n", end_reason(status.last_end));
    }
    fmt::print("recording:  {}{}\n", status.recording ? "on" : "off",
               status.filtered ? fmt::format(", {} left out by its filter", status.filtered) : "");
}

// Another livepatch can replace or shadow this one without any notice to it: then switches go on
// and decisions don't.
void print_liveness(const Device& device, const fsw_status& before) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const fsw_status after = device.status();
    const std::uint64_t decisions = after.decisions - before.decisions;
    fmt::print("decisions:  {} since load, {} in the last second\n", after.decisions, decisions);
    if (after.recording != 0 && decisions == 0 && after.switches > before.switches) {
        fmt::print(
            "WARNING:    {} switches but no decision in that second: idle CPUs, or another "
            "livepatch is in force\n",
            after.switches - before.switches);
    }
}

class StatusCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command = app.add_subcommand(
            "status", "Show the module's state, the arm in force and who has the session");
        command->footer(
            "Ends with 0 if arms can be set, 1 if not. Takes one second, in which it "
            "counts decisions.");
        return command;
    }

    int run() override {
        const Livepatch livepatch("fairswitch");
        if (!livepatch.present()) {
            fmt::print("livepatch:  not loaded\n");
            return static_cast<int>(Exit::kRunFailed);
        }
        print_livepatch(livepatch);
        print_others(livepatch);
        const Device device;
        const fsw_status status = device.status();
        print_session(device, status);
        print_liveness(device, status);
        return static_cast<int>(status.state == FSW_STATE_OPEN ? Exit::kOk : Exit::kRunFailed);
    }
};

}  // namespace

std::unique_ptr<Command> make_status_command() { return std::make_unique<StatusCommand>(); }

}  // namespace fairswitch
