// fairswitch ab: an A/B experiment in one boot, from the arms to the table.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "userspace/analysis/run.h"
#include "userspace/analysis/stats.h"
#include "userspace/base/failure.h"
#include "userspace/base/wrap.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/interrupt.h"
#include "userspace/experiment/plan.h"
#include "userspace/experiment/resume.h"
#include "userspace/experiment/runner.h"

namespace fairswitch {
namespace {

constexpr size_t kStories = 5;

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
            "runs and the measuring program measures. Either by an experiment file:\n"
            "  fairswitch ab scripts/experiments/000.textproto --out run1\n"
            "or by options:\n"
            "  fairswitch ab --arms stock,dequeue-delayed --out run1 \\\n"
            "    --measure 'cyclictest -t 1 -i 2777 -v --policy=other --mlock' \\\n"
            "    --load 'hackbench -T -p -l 16000000 -g 1 -f 10'\n"
            "Options given beside a file replace what it says.\n"
            "An arm is `stock`, a variant (in its non-stock position), `variant=with`,\n"
            "`variant=without` or a sched feature (NO_RUN_TO_PARITY). Here ',' parts the arms and\n"
            "'+' joins the changes of one arm. The first arm is run twice, as two columns: what\n"
            "differs between them is chance (--no-aa leaves the second out).\n"
            "A run ends after its rounds, or sooner with --until or --budget. A look at its data\n"
            "costs: what --until and --interim see on the way takes its share of the 5 % of false\n"
            "alarms from the last table. Ctrl-C ends it with the table of what was measured,\n"
            "and exit code 1.\n"
            "A run that was killed goes on in the same boot, to the same schedule:\n"
            "  fairswitch ab --resume run1");
        ab->add_option("file", file_, "Experiment: a fairswitch.Plan in protobuf text format");
        ab->add_option("--arms", arms_,
                       "Arms, parted by ','; the first is the base. '+' joins the changes of one");
        ab->add_option("--measure", measure_,
                       "What measures: a cyclictest command with -v, or `fairswitch waker …`");
        ab->add_option("--load", loads_,
                       "Load command, started again when it ends; may be given several times");
        ab->add_option("--rounds,--pairs", rounds_,
                       "Rounds of one block per arm; a verdict needs 10")
            ->check(CLI::Range(1, 1000))
            ->default_str("10");
        ab->add_option("--block", block_seconds_, "Seconds measured per block")
            ->check(CLI::Range(0.05, 3600.0))
            ->default_str("1.5");
        ab->add_option("--guard", guard_seconds_, "Seconds after each swap, not measured")
            ->check(CLI::Range(0.0, 60.0))
            ->default_str("0.25");
        ab->add_option("--settle", settle_seconds_, "Seconds before the first swap")
            ->check(CLI::Range(0.0, 600.0))
            ->default_str("3");
        ab->add_option("--seed", seed_, "Seed of the order")->default_str("1");
        ab->add_option("--detail", detail_,
                       "full, or brief: decisions without their entities; stories tell less")
            ->default_str("full");
        ab->add_option("--until", until_,
                       "ROW=PERCENT: end when the interval of this row's difference is at most that "
                       "wide in every arm, as in P99=20; rows: Average, P50, P90, P99, P99.9");
        ab->add_option("--budget", budget_seconds_,
                       "Seconds: begin no round that would end later than this after the start")
            ->check(CLI::Range(1.0, 1e7));
        ab->add_flag("--interim", interim_, "Show tables on the way");
        ab->add_flag("--no-table", no_table_,
                     "Leave the table to `fairswitch report`, perhaps on another machine");
        ab->add_flag("--no-aa", no_aa_, "No second column of the first arm");
        ab->add_option("--graft", options_.graft,
                       "Manifest of the module's build, for the log (default: the one that stood "
                       "beside the module when it was loaded)");
        CLI::Option* out = ab->add_option("--out", options_.out, "Directory for the run's files");
        ab->add_option("--resume", resume_,
                       "Go on with the killed run in this directory, in the same boot")
            ->excludes(out);
        return ab;
    }

    int run() override {
        if (options_.out.empty() && resume_.empty())
            fail(Exit::kUsage, "--out is required, or --resume; see `fairswitch ab --help`");
        make_plan();
        std::cerr << wrapped(power_sentence(power_plan(options_.plan)), 0) << "\n";
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
        if (!no_table_) return report();
        std::cerr << "\nAll raw data: " << options_.out << "\n";
        return exit_code();
    }

  private:
    int exit_code() const { return static_cast<int>(failed_ ? Exit::kRunFailed : Exit::kOk); }

    // The file's plan, with what the command line says in its place.
    void make_plan() {
        Plan& plan = options_.plan;
        const std::optional<Plan> saved = saved_plan();
        if (!file_.empty())
            plan = read_plan_file(file_);
        else if (saved && arms_.empty())
            plan = *saved;
        else if (arms_.empty() || measure_.empty())
            fail(Exit::kUsage,
                 "--arms and --measure are required without an experiment file; see `fairswitch ab "
                 "--help`");
        change_plan(plan);
        complete_plan(plan);
        check_plan(plan);
        if (saved) check_resumable(options_.out, *saved, plan);
        warn_of_few_rounds(plan);
        options_.command_line = "fairswitch ab, as experiment.textproto in its directory says";
    }

    // Of the run to be resumed.
    std::optional<Plan> saved_plan() {
        if (resume_.empty()) return std::nullopt;
        options_.out = resume_;
        options_.resume = true;
        const std::string path = resume_ + "/experiment.textproto";
        if (!std::filesystem::exists(path))
            fail(Exit::kUsage, "{} holds no run: there is no {}", resume_, path);
        return read_plan_file(path);
    }

    void change_plan(Plan& plan) {
        if (!arms_.empty()) {
            plan.clear_arms();
            std::istringstream list(arms_);
            for (std::string arm; std::getline(list, arm, ',');) plan.add_arms()->set_set(arm);
        }
        if (!measure_.empty()) plan.mutable_measure()->set_command(measure_);
        // A file's loads keep their places; only what they run is replaced.
        for (size_t i = 0; i < loads_.size(); ++i) {
            const auto number = static_cast<int>(i);
            Program* load = number < plan.loads_size() ? plan.mutable_loads(number) : plan.add_loads();
            load->set_command(loads_[i]);
        }
        if (rounds_) plan.set_rounds(*rounds_);
        if (block_seconds_) plan.set_block_seconds(*block_seconds_);
        if (guard_seconds_) plan.set_guard_seconds(*guard_seconds_);
        if (settle_seconds_) plan.set_settle_seconds(*settle_seconds_);
        if (seed_) plan.set_seed(*seed_);
        if (no_aa_) plan.set_without_aa(true);
        if (!detail_.empty()) plan.set_detail(detail_);
        if (!until_.empty()) set_until(*plan.mutable_stop());
        if (budget_seconds_) plan.mutable_stop()->set_seconds(*budget_seconds_);
        if (interim_) plan.mutable_stop()->set_watched(true);
    }

    void set_until(Stop& stop) const {
        const size_t equals = until_.find('=');
        char* end = nullptr;
        const double percent =
            equals == std::string::npos ? 0 : std::strtod(until_.c_str() + equals + 1, &end);
        if (percent <= 0 || (end && *end))
            fail(Exit::kUsage, "--until is '{}'; expected a row and percent, as in P99=20", until_);
        stop.set_narrow_row(until_.substr(0, equals));
        stop.set_narrow_percent(percent);
    }

    // A table of so many cells can't come to a verdict, whatever is measured.
    static void warn_of_few_rounds(const Plan& plan) {
        const size_t arms = arms_to_run(plan).size();
        const uint32_t needed = rounds_for_verdict(arms);
        if (plan.rounds() < needed)
            std::cerr << fmt::format(
                "{} rounds are too few for a verdict on {} columns; {} would do\n", plan.rounds(),
                arms, needed);
    }

    int report() {
        std::cerr << "\nreading the run\n";
        const Run run = Run::load(RunFiles::find(options_.out), kStories);
        const std::string table = run.table_text(), stories = run.worst_text();
        write_file(options_.out + "/table.txt", table);
        write_file(options_.out + "/table.md", run.table_text(TableFormat::kMarkdown));
        write_file(options_.out + "/table.csv", run.table_text(TableFormat::kCsv));
        write_file(options_.out + "/table.json", run.table_text(TableFormat::kJson));
        write_file(options_.out + "/explain.txt", stories);
        std::cout << table << "\n" << stories << "All raw data: " << options_.out << "\n";
        return exit_code();
    }

    std::string file_;
    std::string arms_;
    std::string measure_;
    std::vector<std::string> loads_;
    std::optional<uint32_t> rounds_;
    std::optional<double> block_seconds_;
    std::optional<double> guard_seconds_;
    std::optional<double> settle_seconds_;
    std::optional<uint64_t> seed_;
    std::string detail_;
    std::string until_;
    std::optional<double> budget_seconds_;
    bool interim_ = false;
    std::string resume_;
    bool no_table_ = false;
    bool no_aa_ = false;
    ExperimentOptions options_;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ab_command() { return std::make_unique<AbCommand>(); }

}  // namespace fairswitch
