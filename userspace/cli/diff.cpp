// fairswitch diff: the first decision in which two replays with different arms differ.
#include <iostream>

#include "userspace/analysis/diff_text.h"
#include "userspace/analysis/run.h"
#include "userspace/analysis/same_conditions.h"
#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/log/reader.h"

namespace fairswitch {
namespace {

RecordSource records_of(LogReader& reader) {
    return [&reader](model::Record& record) { return reader.next(record); };
}

DiffLog survey_log(const std::string& path, int64_t late_ns) {
    DiffLog log;
    log.path = path;
    LogReader reader(RunFiles::find(path).log);
    log.header = reader.header();
    log.survey = survey(records_of(reader), late_ns);
    log.validity = reader.validity();
    return log;
}

// Twice what all rings hold, in the shortest records: no reading of the rings leaves more out of
// order.
size_t most_waiting(const DiffLog& a, const DiffLog& b) {
    constexpr size_t kLeast = 1 << 16;
    constexpr size_t kShortest = 64;
    const auto rings = [](const Header& header) { return header.cpus() * header.ring_bytes(); };
    return std::max<size_t>(kLeast, 2 * std::max(rings(a.header), rings(b.header)) / kShortest);
}

class DiffCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        CLI::App* diff = app.add_subcommand(
            "diff", "Show the first decision in which two replays with different arms differ");
        diff->footer(
            "A and B are recordings of the same boot and load, repeated under a virtual clock, "
            "with\nanother arm in force. Decisions are compared by content, on each runqueue: "
            "wakee, curr, path,\nverdict, who was picked, and their order; not by time, which "
            "shifts with the first gated\ninstruction. That skew is told, and whether it or the "
            "arm caused the difference. tests/replay\nshows how such recordings are made "
            "(scripts/lab run --replay). Needs no root and no module.\n"
            "Exit code 0 whether or not a decision differs, 1 if a log is broken, 2 if the logs "
            "aren't\nof one configuration.");
        diff->add_option("A", a_, "Log (*.fsl) or directory written by `ab`")->required();
        diff->add_option("B", b_, "The other one")->required();
        diff->add_option("--late", late_ms_, "A wakeup is late after this many ms")
            ->check(CLI::Range(0.0, 1e6))
            ->capture_default_str();
        diff->add_flag("--force", force_, "Compare even if kernel, module, load or pids differ");
        return diff;
    }

    int run() override {
        const auto late_ns = static_cast<int64_t>(late_ms_ * 1e6);
        const DiffLog a = survey_log(a_, late_ns);
        const DiffLog b = survey_log(b_, late_ns);
        for (const DiffLog* log : {&a, &b}) check_usable(*log);
        const std::vector<std::string> differing = check(a, b);
        LogReader reader_a(RunFiles::find(a_).log);
        LogReader reader_b(RunFiles::find(b_).log);
        const Diff found = diff(records_of(reader_a), a.survey, records_of(reader_b), b.survey,
                                most_waiting(a, b));
        std::cout << diff_text(a, b, found, late_ns, differing);
        const bool broken = a.broken() || b.broken();
        return static_cast<int>(broken ? Exit::kRunFailed : Exit::kOk);
    }

  private:
    static void check_usable(const DiffLog& log) {
        if (log.header.has_trigger())
            fail(Exit::kUsage,
                 "{} is a flight recording, of which only windows are left; expected a whole one "
                 "(record without --trigger)",
                 log.path);
        if (log.survey.briefs)
            fail(Exit::kUsage,
                 "{} holds {} brief decisions, which don't say who was picked; expected full ones "
                 "(record with --detail full)",
                 log.path, log.survey.briefs);
    }

    std::vector<std::string> check(const DiffLog& a, const DiffLog& b) const {
        std::vector<std::string> differing = differing_conditions(a.header, b.header);
        if (a.survey.decisions && b.survey.decisions &&
            same_pids(a.survey, b.survey) == SamePids::kNone)
            differing.push_back(
                fmt::format("pids: none of {} is among the {} of the other; these are no replays",
                            a.survey.pids.size(), b.survey.pids.size()));
        if (!differing.empty() && !force_)
            fail(Exit::kUsage,
                 "{} and {} differ in more than the arm; expected one kernel, module and load, "
                 "replayed (--force compares all the same):\n  {}",
                 a_, b_, fmt::join(differing, "\n  "));
        return differing;
    }

    std::string a_;
    std::string b_;
    double late_ms_ = 1;
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_diff_command() { return std::make_unique<DiffCommand>(); }

}  // namespace fairswitch
