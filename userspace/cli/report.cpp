// fairswitch report: the table of a recorded run, rebuilt from its files.
#include <iostream>

#include "userspace/analysis/run.h"
#include "userspace/cli/commands.h"

namespace fairswitch {
namespace {

class ReportCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* report = app.add_subcommand("report", "Print the table of a recorded run");
        report->footer(
            "Needs no root and no module. A lone log without cyclictest output is "
            "reported from its records.");
        report->add_option("run", path_, "Directory written by `ab`, or a log (*.fsl)")->required();
        report->add_option("--part", part_, "Of a log joined of several recordings, the Nth")
            ->check(CLI::PositiveNumber);
        report->add_option("--cyclictest", cyclictest_,
                           "cyclictest -v output to join with the log");
        report
            ->add_option("--format", format_,
                         "text, markdown (for a mail, 80 columns), csv or json")
            ->transform(CLI::CheckedTransformer(
                std::map<std::string, TableFormat>{{"text", TableFormat::kText},
                                                   {"markdown", TableFormat::kMarkdown},
                                                   {"csv", TableFormat::kCsv},
                                                   {"json", TableFormat::kJson}}))
            ->default_str("text");
        return report;
    }

    int run() override {
        RunFiles files = RunFiles::find(path_, cyclictest_);
        files.part = part_;
        std::cout << Run::load(files, 0).table_text(format_);
        return 0;
    }

  private:
    std::string path_;
    std::string cyclictest_;
    TableFormat format_ = TableFormat::kText;
    size_t part_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace fairswitch
