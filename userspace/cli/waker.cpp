// fairswitch waker
#include <signal.h>

#include <atomic>
#include <iostream>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/workload/waker.h"

namespace fairswitch {
namespace {

std::atomic<bool> stop{false};

void on_signal(int) { stop = true; }

class WakerCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* waker = app.add_subcommand(
            "waker", "Wake up periodically, work a while, and tell how late each wakeup was");
        waker->footer(
            "Prints for each period when the thread was expected to run and when it ran (ns,\n"
            "CLOCK_MONOTONIC), and each period that was skipped because the thread came too late.\n"
            "To be measured by `ab`:\n"
            "  fairswitch ab --arms stock,requeue-clock=without --out run1 \\\n"
            "    --measure 'fairswitch waker --interval 1000 --busy 200 --cpu 1' --load '…'");
        waker->add_option("-t,--threads", options_.threads, "Measuring threads")
            ->check(CLI::Range(1, 1024))
            ->capture_default_str();
        waker->add_option("-i,--interval", interval_us_, "Period in us")
            ->check(CLI::Range(50.0, 60e6))
            ->capture_default_str();
        waker->add_option("-b,--busy", busy_us_, "Busy time per period in us")
            ->check(CLI::Range(0.0, 60e6))
            ->capture_default_str();
        waker->add_flag("--busy-cpu", options_.busy_is_cpu_time,
                        "Busy time counts the thread's own CPU time, not the clock on the wall");
        waker->add_option("-D,--duration", options_.seconds, "Seconds; 0: until Ctrl-C")
            ->check(CLI::Range(0.0, 1e7))
            ->capture_default_str();
        waker->add_option("--policy", policy_, "other, batch, idle, fifo or rr")
            ->capture_default_str();
        waker->add_option("--priority", options_.attributes.priority, "Of fifo and rr")
            ->check(CLI::Range(0, 99));
        waker->add_option("--nice", options_.attributes.nice, "Nice value")
            ->check(CLI::Range(-20, 19));
        waker->add_option("--slice", slice_us_, "Slice in us (default: the kernel's)")
            ->check(CLI::Range(100.0, 100e3));
        waker->add_option("--slack", slack_us_, "Timer slack in us (default: as inherited, 50)")
            ->check(CLI::Range(0.0, 60e6));
        waker->add_option("-c,--cpu", cpus_, "CPUs, such as 0,2-3; thread n takes the n-th of them");
        waker->add_option("--cgroup", cgroup_, "Run in this cgroup");
        return waker;
    }

    int run() override {
        options_.interval_ns = static_cast<uint64_t>(interval_us_ * 1000);
        options_.busy_ns = static_cast<uint64_t>(busy_us_ * 1000);
        if (options_.busy_ns >= options_.interval_ns)
            fail(Exit::kUsage,
                 "--busy {} leaves no time to sleep in an --interval of {}; give less", busy_us_,
                 interval_us_);
        options_.attributes.policy = parse_policy(policy_);
        options_.attributes.slice_ns = static_cast<uint64_t>(slice_us_ * 1000);
        if (slack_us_ >= 0) options_.slack_ns = static_cast<uint64_t>(slack_us_ * 1000);
        if (!cpus_.empty()) options_.cpus = parse_cpu_list(cpus_);
        if (!cgroup_.empty()) enter_cgroup(cgroup_);
        struct sigaction action {};
        action.sa_handler = on_signal;
        sigaction(SIGINT, &action, nullptr);
        sigaction(SIGTERM, &action, nullptr);
        run_waker(options_, stop, std::cout);
        return static_cast<int>(Exit::kOk);
    }

  private:
    WakerOptions options_;
    double interval_us_ = 1000;
    double busy_us_ = 0;
    double slice_us_ = 0;
    double slack_us_ = -1;
    std::string policy_ = "other";
    std::string cpus_;
    std::string cgroup_;
};

}  // namespace

std::unique_ptr<Command> make_waker_command() { return std::make_unique<WakerCommand>(); }

}  // namespace fairswitch
