// fairswitch bisect: which switch brings a change.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/interrupt.h"
#include "userspace/device/device.h"
#include "userspace/experiment/bisect_run.h"
#include "userspace/experiment/plan.h"

namespace fairswitch {
namespace {

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> items;
    std::istringstream in(list);
    for (std::string item; std::getline(in, item, ',');)
        if (!item.empty()) items.push_back(item);
    return items;
}

class BisectCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* bisect =
            app.add_subcommand("bisect", "Find which switch, or pair of switches, brings a change");
        bisect->footer(
            "Measures the kernel as it is against everything turned, then goes into halves, and\n"
            "confirms what it found on fresh data. Example, on a kernel whose tail has grown:\n"
            "  fairswitch bisect scripts/experiments/004.textproto --metric P90 --out why\n"
            "  fairswitch bisect --measure 'fairswitch waker -b 200' --load 'hackbench -g 1' \\\n"
            "    --switches dequeue-delayed,lag-clamp,NO_RUN_TO_PARITY --out why\n"
            "The file's arms aren't used. A wrong switch is named at most as often as --error-rate\n"
            "says.");
        bisect->add_option("file", file_, "Experiment whose workload and conditions to take");
        bisect->add_option("--measure", measure_, "`fairswitch waker …`");
        bisect->add_option("--load", loads_, "Load command; may be given several times");
        bisect->add_option("--switches", switches_,
                           "Among what to search, parted by ',': variants and sched features "
                           "(default: every variant of the module, turned)");
        bisect
            ->add_option("--metric", options_.bisect.metric,
                         "Average, P50, P90, P99, P99.9, above-1ms, above-2ms or above-4ms")
            ->transform(CLI::CheckedTransformer(std::map<std::string, Metric>{
                {"Average", Metric::kAverage},
                {"P50", Metric::kP50},
                {"P90", Metric::kP90},
                {"P99", Metric::kP99},
                {"P99.9", Metric::kP999},
                {"above-1ms", Metric::kOver1ms},
                {"above-2ms", Metric::kOver2ms},
                {"above-4ms", Metric::kOver4ms}}))
            ->default_str("P99");
        bisect->add_option("--error-rate", options_.bisect.error_rate, "Of the answer")
            ->check(CLI::Range(0.001, 0.5))
            ->capture_default_str();
        bisect->add_option("--block", block_seconds_, "Seconds measured per block")
            ->check(CLI::Range(0.05, 3600.0));
        bisect->add_option("--guard", guard_seconds_, "Seconds after each swap, not measured")
            ->check(CLI::Range(0.0, 60.0));
        bisect->add_option("--detail", detail_, "Of the records: full or brief");
        bisect->add_option("--settle", settle_seconds_, "Seconds before the first swap")
            ->check(CLI::Range(0.0, 600.0));
        bisect->add_option("--seed", seed_, "Seed of the order");
        bisect->add_option("--out", options_.experiment.out, "Directory for the run's files")
            ->required();
        return bisect;
    }

    int run() override {
        make_plan();
        const InterruptGuard guard;
        BisectRun bisect(options_);
        const bool done = bisect.run();
        std::cerr << "\n";
        if (!done) {
            std::cerr << "interrupted; what was measured: " << options_.experiment.out << "\n";
            return static_cast<int>(Exit::kRunFailed);
        }
        const std::string text =
            bisect_text(bisect.result(), options_.bisect, options_.switches);
        std::ofstream(options_.experiment.out + "/bisect.txt") << text;
        std::cout << text << "All raw data: " << options_.experiment.out << "\n";
        return static_cast<int>(Exit::kOk);
    }

  private:
    void make_plan() {
        Plan& plan = options_.experiment.plan;
        if (!file_.empty()) plan = read_plan_file(file_);
        if (!measure_.empty()) plan.mutable_measure()->set_command(measure_);
        for (size_t i = 0; i < loads_.size(); ++i) {
            const auto number = static_cast<int>(i);
            (number < plan.loads_size() ? plan.mutable_loads(number) : plan.add_loads())
                ->set_command(loads_[i]);
        }
        if (block_seconds_) plan.set_block_seconds(*block_seconds_);
        if (guard_seconds_) plan.set_guard_seconds(*guard_seconds_);
        if (!detail_.empty()) plan.set_detail(detail_);
        if (settle_seconds_) plan.set_settle_seconds(*settle_seconds_);
        if (seed_) plan.set_seed(*seed_);
        options_.switches = switches_.empty() ? all_variants() : split(switches_);
        prepare_bisect(plan, options_.switches);
        complete_plan(plan);
        check_plan(plan);
        options_.experiment.command_line =
            "fairswitch bisect, as experiment.textproto in its directory says";
        std::cerr << fmt::format(
            "searching among {} switches: at most {} rounds of blocks of {} s\n",
            options_.switches.size(), bisect_rounds(options_.switches.size(), options_.bisect),
            plan.block_seconds());
    }

    static std::vector<std::string> all_variants() {
        const Device device;
        std::vector<std::string> ids;
        for (const Variant& variant : device.variants()) ids.push_back(variant.id);
        return ids;
    }

    BisectRunOptions options_;
    std::string file_;
    std::string measure_;
    std::vector<std::string> loads_;
    std::string switches_;
    std::optional<double> block_seconds_;
    std::optional<double> guard_seconds_;
    std::string detail_;
    std::optional<double> settle_seconds_;
    std::optional<uint64_t> seed_;
};

}  // namespace

std::unique_ptr<Command> make_bisect_command() { return std::make_unique<BisectCommand>(); }

}  // namespace fairswitch
