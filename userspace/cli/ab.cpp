// fairswitch ab: an A/B experiment in one boot, from the arms to the table.
#include <signal.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "userspace/analysis/cyclictest.h"
#include "userspace/analysis/run.h"
#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/experiment.h"

namespace fairswitch {
namespace {

constexpr size_t kStories = 5;

void on_signal(int) { ExperimentRun::interrupt(); }

class InterruptGuard {
  public:
    InterruptGuard() {
        struct sigaction action {};
        action.sa_handler = on_signal;
        sigaction(SIGINT, &action, &old_int_);
        sigaction(SIGTERM, &action, &old_term_);
    }
    ~InterruptGuard() {
        sigaction(SIGINT, &old_int_, nullptr);
        sigaction(SIGTERM, &old_term_, nullptr);
    }

  private:
    struct sigaction old_int_ {};
    struct sigaction old_term_ {};
};

void write_file(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::trunc);
    out << text;
    out.flush();
    if (!out) fail(Exit::kRunFailed, "cannot write {}: is the disk full?", path);
}

class AbCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* ab = app.add_subcommand("ab", "Compare arms under a load, in one boot");
        ab->footer(
            "Arms alternate in short blocks, in random order inside each round, while the load\n"
            "runs and cyclictest measures. Example:\n"
            "  fairswitch ab --arms stock,dequeue-delayed --out run1 \\\n"
            "    --measure 'cyclictest -t 1 -i 2777 -v --policy=other --mlock' \\\n"
            "    --load 'hackbench -T -p -l 16000000 -g 1 -f 10'\n"
            "An arm is `stock`, a variant (in its non-stock position), `variant=with` or\n"
            "`variant=without`. Here ',' parts the arms and '+' joins the changes of one arm "
            "(`set`,\n"
            "which takes a single arm, joins them by either). `stock,stock` is an A/A run.");
        ab->add_option(
              "--arms", arms_,
              "Arms, parted by ','; the first is the base. '+' joins the changes of one arm")
            ->required();
        ab->add_option("--measure", options_.measure, "What measures: a cyclictest command with -v, or `fairswitch waker …`")->required();
        ab->add_option("--load", options_.load, "Load command, started again when it ends")
            ->required();
        ab->add_option("--pairs", options_.pairs, "Rounds of one block per arm; a verdict needs 10")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
        ab->add_option("--block", options_.block_seconds, "Seconds measured per block")
            ->check(CLI::Range(0.05, 3600.0))
            ->capture_default_str();
        ab->add_option("--guard", options_.guard_seconds, "Seconds after each swap, not measured")
            ->check(CLI::Range(0.0, 60.0))
            ->capture_default_str();
        ab->add_option("--settle", options_.settle_seconds, "Seconds before the first swap")
            ->check(CLI::Range(0.0, 600.0))
            ->capture_default_str();
        ab->add_option("--seed", options_.seed, "Seed of the order")->capture_default_str();
        ab->add_option("--graft", options_.graft,
                       "Manifest of the module's build, for the log (default: the one that stood "
                       "beside the module when it was loaded)");
        ab->add_option("--out", options_.out, "Directory for the run's files")->required();
        return ab;
    }

    int run() override {
        check_options();
        {
            InterruptGuard guard;
            ExperimentRun experiment(options_);
            try {
                failed_ = !experiment.run();
            } catch (const Failure& failure) {
                std::cerr << "\nfairswitch: " << failure.what() << "\n"
                          << "What was measured before that follows.\n";
                failed_ = true;
            }
        }
        return report();
    }

  private:
    void check_options() {
        std::istringstream list(arms_);
        for (std::string arm; std::getline(list, arm, ',');) options_.arms.push_back(arm);
        if (options_.arms.size() < 2)
            fail(Exit::kUsage,
                 "--arms names {} arm(s), at least two are compared: for example "
                 "--arms stock,dequeue-delayed",
                 options_.arms.size());
        CyclicCommand command = CyclicCommand::parse(options_.measure);
        if (!command.verbose)
            fail(Exit::kUsage, "--measure '{}' prints no single samples; add -v", options_.measure);
        if (command.relative)
            fail(Exit::kUsage,
                 "--measure uses -r: relative periods have no expected moment to "
                 "join with; leave -r out");
        options_.command_line = fmt::format(
            "fairswitch ab --arms {} --measure '{}' --load '{}' --pairs {} --block {} "
            "--guard {} --settle {} --seed {}",
            arms_, options_.measure, options_.load, options_.pairs, options_.block_seconds,
            options_.guard_seconds, options_.settle_seconds, options_.seed);
    }

    int report() {
        std::cerr << "\nreading the run\n";
        const Run run = Run::load(RunFiles::find(options_.out), kStories);
        const std::string table = run.table_text(), stories = run.worst_text();
        write_file(options_.out + "/table.txt", table);
        write_file(options_.out + "/explain.txt", stories);
        std::cout << table << "\n" << stories << "All raw data: " << options_.out << "\n";
        return static_cast<int>(failed_ ? Exit::kRunFailed : Exit::kOk);
    }

    std::string arms_;
    ExperimentOptions options_;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ab_command() { return std::make_unique<AbCommand>(); }

}  // namespace fairswitch
