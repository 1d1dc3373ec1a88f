// fairswitch explain: why the most late wakeups of a run were late.
#include <iostream>

#include "userspace/analysis/run.h"
#include "userspace/cli/commands.h"

namespace fairswitch {
namespace {

class ExplainCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* explain =
            app.add_subcommand("explain", "Tell why wakeups were late: timer, decisions, who ran");
        explain->footer(
            "Times are relative to the moment at which the thread expected to wake. "
            "Needs no root and no module.");
        explain->add_option("run", path_, "Directory written by `ab`, or a log (*.fsl)")
            ->required();
        explain->add_option("--worst", worst_, "How many of the most late samples")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
        cycle_option_ =
            explain->add_option("--sample", cycle_, "One sample, by cyclictest's cycle");
        explain->add_option("--thread", thread_, "cyclictest's number of the thread, with --sample")
            ->capture_default_str()
            ->needs(cycle_option_);
        explain->add_option("--part", part_, "Of a log joined of several recordings, the Nth")
            ->check(CLI::PositiveNumber);
        explain->add_option("--cyclictest", cyclictest_,
                            "cyclictest -v output to join with the log");
        return explain;
    }

    int run() override {
        RunFiles files = RunFiles::find(path_, cyclictest_);
        files.part = part_;
        if (cycle_option_->count() == 0) {
            std::cout << Run::load(files, worst_).worst_text();
            return 0;
        }
        const SampleId chosen{thread_, cycle_};
        std::cout << Run::load(files, 0, chosen).sample_text(chosen);
        return 0;
    }

  private:
    std::string path_;
    std::string cyclictest_;
    size_t part_ = 0;
    size_t worst_ = 5;
    uint64_t cycle_ = 0;
    uint32_t thread_ = 0;
    CLI::Option* cycle_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace fairswitch
