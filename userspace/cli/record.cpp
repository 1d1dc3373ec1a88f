// fairswitch record
#include <cmath>
#include <ctime>
#include <iostream>

#include "userspace/base/beat.h"
#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/cli/progress.h"
#include "userspace/device/environment.h"
#include "userspace/device/filter.h"
#include "userspace/device/loaded_graft.h"
#include "userspace/device/proc_files.h"
#include "userspace/device/recorder.h"
#include "userspace/device/run_control.h"
#include "userspace/device/watching.h"
#include "userspace/log/filter_text.h"

namespace fairswitch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kArm = 1;
constexpr double kRatePeriod_s = 1;
constexpr double kForever_s = 1e9;

struct Options {
    std::string output;
    std::vector<std::string> watch;
    bool watch_command = false;
    double duration_s = 0;  // 0: no limit
    std::string arm = "stock";
    std::string kinds;
    std::string detail = "full";
    std::uint32_t lease_ms = 2000;
    FilterOptions filter;
    std::vector<std::string> watch_names;
    std::string trigger;  // empty: an ordinary recording
    std::string before = "50ms";
    std::string after = "10ms";
    std::string graft;
    bool zstd = false;
    std::vector<std::string> command;
};

std::string own_command_line() {
    std::string line = whole_file("/proc/self/cmdline");
    for (char& c : line) {
        if (c == '\0') c = ' ';
    }
    if (line.ends_with(' ')) line.pop_back();
    return line;
}

std::optional<Flight> parse_flight(const Options& options) {
    if (options.trigger.empty()) return std::nullopt;
    return Flight{.latency_ns = parse_trigger(options.trigger),
                  .before_ns = parse_duration_ns(options.before, "--before"),
                  .after_ns = parse_duration_ns(options.after, "--after")};
}

// A window needs its mark and the names of its tasks.
std::uint32_t kinds_of(const Options& options) {
    const std::uint32_t kinds = options.kinds.empty() ? all_kinds() : parse_kinds(options.kinds);
    if (options.trigger.empty()) return kinds;
    return kinds | 1u << FSW_KIND_MARKER | 1u << FSW_KIND_TASK;
}

// One recording, from the session's begin to the log's end.
class Recording {
  public:
    explicit Recording(const Options& options)
        : options_(options),
          kinds_(kinds_of(options)),
          flight_(parse_flight(options)),
          detail_(parse_detail(options.detail)),
          filter_(parse_filter(options.filter)),
          session_(Device(), std::chrono::milliseconds(options.lease_ms)),
          arm_(parse_arm(options.arm, session_.device().variants())) {
        for (const std::string& name : options_.watch) {
            for (const pid_t pid : find_processes(name)) watched_.push_back(pid);
        }
        if (!options_.command.empty()) {
            const pid_t child = control_.prepare(options_.command);
            if (options_.watch_command) watched_.push_back(child);
        }
    }

    int run() {
        const fsw_set set = session_.set(own_arm(), arm_.positions);
        for (const pid_t pid : watched_) session_.watch_process(pid);
        for (const std::string& name : options_.watch_names) session_.watch_name(name);
        if (filter_.used) session_.filter(filter_.kernel);
        ignore_write_signals();
        LogWriter log(options_.output, header(),
                      options_.zstd ? LogWriter::Packing::kZstd : LogWriter::Packing::kPlain);
        Recorder recorder(session_, log, kinds_, detail_, flight_);
        recorder.start();
        fmt::print(stderr, "recording to {}, arm {} (swapped in {:.1f} us), {} watched\n",
                   options_.output, arm_.name, static_cast<double>(set.end_ns - set.begin_ns) / 1e3,
                   watched_.size() + options_.watch_names.size());
        if (filter_.used) fmt::print(stderr, "filtered: {}\n", filter_text(filter_.log));
        begin_ = Clock::now();
        if (options_.duration_s > 0 && options_.duration_s < kForever_s)
            end_ = begin_ + std::chrono::nanoseconds(std::llround(options_.duration_s * 1e9));
        const std::string reason = follow(recorder);
        finish(recorder, log, reason);
        return report(recorder, log);
    }

  private:
    Header header() {
        Header header = describe_machine(session_.device());
        header.set_command(own_command_line());
        add_arm(header, 0,
                {.name = "stock", .positions = stock_positions(session_.device().variants())});
        if (arm_.name != "stock") add_arm(header, kArm, arm_);
        for (const pid_t pid : watched_) header.add_watched(static_cast<std::uint32_t>(pid));
        header.set_graft(graft_manifest(options_.graft));
        for (const std::string& name : options_.watch_names) header.add_watched_names(name);
        if (flight_) {
            header.mutable_trigger()->set_latency_ns(flight_->latency_ns);
            header.mutable_trigger()->set_before_ns(flight_->before_ns);
            header.mutable_trigger()->set_after_ns(flight_->after_ns);
        }
        if (filter_.used) *header.mutable_filter() = filter_.log;
        return header;
    }

    // Until something ends the run. Why it ended.
    std::string follow(const Recorder& recorder) {
        constexpr std::chrono::milliseconds kTick(200);
        if (!options_.command.empty()) control_.go();
        ProgressLine line;
        while (recorder.healthy()) {
            if (Clock::now() >= end_) return "duration is over";
            switch (control_.wait(std::min(next_beat(kTick), end_) - Clock::now())) {
                case RunControl::Event::kSignal:
                    return fmt::format("signal {}", control_.signal());
                case RunControl::Event::kCommandEnded:
                    return "command ended";
                case RunControl::Event::kNone:
                    break;
            }
            show(recorder.live(), elapsed_s(), line);
        }
        return "recording failed";
    }

    double elapsed_s() const {
        return std::chrono::duration<double>(Clock::now() - begin_).count();
    }

    void show(const Recorder::Live& live, double elapsed, ProgressLine& line) {
        if (flight_) {
            line.show(fmt::format("{:6.1f} s  {} windows, {} records  {:.1f} MB  arm {}", elapsed,
                                  live.windows, live.records, static_cast<double>(live.bytes) / 1e6,
                                  arm_in_force()));
            return;
        }
        if (elapsed - rate_from_s_ >= kRatePeriod_s) {
            rate_ =
                static_cast<double>(live.records - rate_from_records_) / (elapsed - rate_from_s_);
            rate_from_s_ = elapsed;
            rate_from_records_ = live.records;
        }
        line.show(fmt::format("{:6.1f} s  {} records, {:.0f}/s  {:.1f} MB  {} lost  arm {}",
                              elapsed, live.records, rate_, static_cast<double>(live.bytes) / 1e6,
                              live.dropped, arm_in_force()));
    }

    // `set` from outside can change it.
    std::string arm_in_force() const {
        const fsw_status status = session_.device().status();
        if (status.arm == own_arm()) return arm_.name;
        if (status.arm == 0) return "stock";
        return fmt::format("{}: {}", status.arm,
                           describe_positions(status.positions, session_.device().variants()));
    }

    std::uint32_t own_arm() const { return arm_.name == "stock" ? 0 : kArm; }

    // The log gets its End record whatever happened to the recording.
    void finish(Recorder& recorder, LogWriter& log, const std::string& reason) {
        std::exception_ptr trouble;
        try {
            recorder.stop();
        } catch (...) {
            trouble = std::current_exception();
        }
        control_.end_command();
        try {
            log.close(recorder.end_record(reason));
        } catch (...) {
            if (!trouble) trouble = std::current_exception();
        }
        if (trouble) std::rethrow_exception(trouble);
    }

    int report(const Recorder& recorder, const LogWriter& log) const {
        const Recorder::Live live = recorder.live();
        fmt::print(stderr, "{}: {} records, {} bytes, {} lost\n", log.path(), live.records,
                   log.bytes(), live.dropped);
        if (flight_) report_flight(live);
        if (live.dropped > 0 && !flight_) {
            fmt::print(stderr,
                       "LOST {} records: the rings were full; load with a greater --ring-kb, "
                       "or record fewer --kinds\n",
                       live.dropped);
        }
        if (!recorder.violations().empty()) {
            fail(Exit::kRunFailed,
                 "the books don't add up, so don't trust this log; expected produced = stored + "
                 "dropped:\n{}",
                 recorder.violations());
        }
        if (const std::string trouble = control_.command_trouble(); !trouble.empty()) {
            fail(Exit::kRunFailed, "{} (the log is whole)", trouble);
        }
        return static_cast<int>(Exit::kOk);
    }

    void report_flight(const Recorder::Live& live) const {
        fmt::print(stderr, "{} windows; {} records came while one was copied\n", live.windows,
                   live.dropped);
        if (live.short_windows > 0) {
            fmt::print(stderr,
                       "{} windows don't reach back {}: they follow another, or the rings were too "
                       "small (load with a greater --ring-kb, or record --detail brief)\n",
                       live.short_windows, options_.before);
        }
    }

    const Options& options_;
    const std::uint32_t kinds_;
    const std::optional<Flight> flight_;
    const std::uint32_t detail_;
    const ParsedFilter filter_;
    RunControl control_;  // before the session: its thread inherits the blocked signals
    Session session_;
    const ArmSpec arm_;
    std::vector<pid_t> watched_;
    Clock::time_point begin_;
    Clock::time_point end_ = Clock::time_point::max();
    // Records per second of late, and since when that is counted.
    double rate_ = 0;
    double rate_from_s_ = 0;
    std::uint64_t rate_from_records_ = 0;
};

class RecordCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* command =
            app.add_subcommand("record", "Record wakeup-preemption decisions into a log");
        command
            ->add_option("-o,--output", options_.output,
                         "Log to write (*.fsl), replaced if there; `-` is standard output")
            ->required();
        command
            ->add_option("--watch", options_.watch,
                         "Process, by pid or name, whose wakeups and switches are recorded too; "
                         "can be repeated")
            ->allow_extra_args(false);
        command
            ->add_option("--watch-comm", options_.watch_names,
                         "Name of threads to be watched, present and future; can be repeated")
            ->allow_extra_args(false);
        command->add_flag("--watch-command", options_.watch_command, "Watch COMMAND's process");
        command
            ->add_option("--duration", options_.duration_s, "Seconds to record (default: no limit)")
            ->check(CLI::PositiveNumber);
        command->add_option("--arm", options_.arm, "Arm to put in force, as for `set`")
            ->capture_default_str();
        command->add_option("--kinds", options_.kinds,
                            "Record kinds, separated by commas (default: all)");
        command->add_flag("--zstd", options_.zstd,
                          "Pack the log; whoever reads it finds out by itself");
        command
            ->add_option("--detail", options_.detail,
                         "full, or brief: decisions without their entities, a fifth of the bytes; "
                         "no requeue and delay records")
            ->capture_default_str();
        command
            ->add_option(
                "--lease", options_.lease_ms,
                "Milliseconds for which the arm outlives this program when it is stopped or "
                "starved of CPU")
            ->check(CLI::Range(100, 60000))
            ->capture_default_str();
        declare_flight(*command);
        declare_filter(*command);
        command->add_option("--graft", options_.graft,
                            "Manifest of the module's build, for the log (default: the one that "
                            "stood beside the module when it was loaded)");
        command->add_option("COMMAND", options_.command, "Behind `--`: record while this runs");
        command->footer(
            "Ends at Ctrl-C, when the duration is over or when COMMAND ends, whichever is first.\n"
            "Example: fairswitch record -o run.fsl --watch-command -- cyclictest -q -D 10 "
            "--policy=other\n"
            "For days: fairswitch record -o late.fsl --watch-comm postgres --trigger "
            "'latency>1ms'");
        return command;
    }

    int run() override {
        if (options_.watch_command && options_.command.empty()) {
            fail(Exit::kUsage, "--watch-command needs a COMMAND behind `--`");
        }
        if (!options_.trigger.empty() && options_.watch.empty() && options_.watch_names.empty() &&
            !options_.watch_command) {
            fail(Exit::kUsage,
                 "--trigger needs somebody to be late: --watch, --watch-comm or --watch-command");
        }
        return Recording(options_).run();
    }

  private:
    void declare_flight(CLI::App& command) {
        const auto add = [&](const char* name, std::string& value, const char* help) {
            return command.add_option(name, value, help)->group("Flight recorder");
        };
        auto* trigger =
            add("--trigger", options_.trigger,
                "'latency>1ms': keep only windows around the moments at which a watched "
                "thread was switched in later than that after its wakeup");
        add("--before", options_.before, "How much of a window lies before the trigger")
            ->needs(trigger)
            ->capture_default_str();
        add("--after", options_.after, "How much behind it, at least")
            ->needs(trigger)
            ->capture_default_str();
    }

    void declare_filter(CLI::App& command) {
        FilterOptions& filter = options_.filter;
        const auto add = [&](const char* name, auto& value, const char* help) {
            return command.add_option(name, value, help)->group("Filters (all must pass)");
        };
        add("--pid", filter.pid, "Only about this thread: decisions on its wakeups, its requeues");
        add("--tgid", filter.tgid, "Only about threads of this process");
        add("--cgroup", filter.cgroup, "Only about tasks in or below this cgroup");
        add("--comm", filter.comm, "Only about tasks of exactly this name");
        add("--cpu", filter.cpus, "Only about the runqueues of these CPUs, like 0,2-3");
        add("--sample", filter.sample, "Only every Nth, per CPU and kind");
        add("--path", filter.paths, "Only decisions that took these paths, parted by commas");
        command
            .add_flag("--short-slice", filter.short_slice,
                      "Only decisions about wakees whose own slice is shorter than the running "
                      "task's")
            ->group("Filters (all must pass)");
    }

    Options options_;
};

}  // namespace

std::unique_ptr<Command> make_record_command() { return std::make_unique<RecordCommand>(); }

}  // namespace fairswitch
