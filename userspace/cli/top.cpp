// fairswitch top: what is being decided now, or in the last seconds of a log.
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <mutex>

#include "userspace/analysis/live.h"
#include "userspace/base/failure.h"
#include "userspace/cli/commands.h"
#include "userspace/device/environment.h"
#include "userspace/device/recorder.h"
#include "userspace/device/run_control.h"
#include "userspace/device/watching.h"
#include "userspace/log/reader.h"

namespace fairswitch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t kArm = 1;
constexpr milliseconds kRefresh(1000);

struct Options {
    std::string log;
    std::vector<std::string> watch;
    std::string arm = "stock";
    double duration_s = 0;  // 0: no limit
    unsigned window_s = 5;
    std::size_t worst = 10;
};

std::string title_of(const Header& header) {
    return fmt::format("{}, kernel {}", printable(header.host()),
                       printable(header.kernel_release()));
}

// On a terminal the screen is drawn anew; elsewhere a line is printed each time.
class Screen {
  public:
    Screen() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

    void show(const std::string& title, const LiveSnapshot& snapshot) const {
        if (terminal_) {
            fmt::print("\033[H\033[2J");
            print(title, snapshot, true);
        } else {
            fmt::print("{}\n", live_line(snapshot));
        }
        std::fflush(stdout);
    }

    // What stays.
    void show_last(const std::string& title, const LiveSnapshot& snapshot) const {
        if (terminal_) fmt::print("\033[H\033[2J");
        print(title, snapshot, false);
    }

  private:
    static void print(const std::string& title, const LiveSnapshot& snapshot, bool cut) {
        winsize size{};
        if (!cut || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
        const std::size_t columns = size.ws_col ? size.ws_col : std::string::npos;
        std::vector<std::string> lines = live_screen(snapshot);
        lines.insert(lines.begin(), title);
        if (size.ws_row && lines.size() >= size.ws_row) lines.resize(size.ws_row - 1);
        for (const std::string& line : lines) fmt::print("{}\n", line.substr(0, columns));
    }

    const bool terminal_;
};

// A log or a pipe, read to its end.
class Replay {
  public:
    explicit Replay(const Options& options) : options_(options) {}

    int run() {
        LogReader reader(options_.log);
        begin_part(reader);
        next_ = Clock::now() + kRefresh;
        for (model::Record record; reader.next(record);) {
            if (reader.parts().size() != part_) begin_part(reader);
            view_->add(record);
            if (view_->now_ns() != last_shown_ns_ && Clock::now() >= next_) show();
        }
        screen_.show_last(describe(reader.parts().back()), view_->snapshot(options_.worst));
        const LogPart& part = reader.parts().back();
        for (const std::string& line : part.losses.lines(part.header.start_monotonic_ns()))
            fmt::print("!! {}\n", line);
        fmt::print("{}", reader.validity().summary());
        return static_cast<int>(Exit::kOk);
    }

  private:
    // Another host, or another boot: nothing before compares with it.
    void begin_part(const LogReader& reader) {
        part_ = reader.parts().size();
        view_.emplace(reader.header(), options_.window_s);
        title_ = title_of(reader.header());
    }

    void show() {
        screen_.show(title_, view_->snapshot(options_.worst));
        last_shown_ns_ = view_->now_ns();
        next_ = Clock::now() + kRefresh;
    }

    const Options& options_;
    Screen screen_;
    std::optional<LiveView> view_;
    std::string title_;
    std::size_t part_ = 0;
    std::uint64_t last_shown_ns_ = 0;
    Clock::time_point next_;
};

// A session of its own: like `record`, but nothing is kept.
class Watch {
  public:
    explicit Watch(const Options& options)
        : options_(options),
          session_(Device()),
          arm_(parse_arm(options.arm, session_.device().variants())) {}

    int run() {
        session_.set(arm_.name == "stock" ? 0 : kArm, arm_.positions);
        for (const std::string& name : options_.watch) {
            for (const pid_t pid : find_processes(name)) session_.watch_process(pid);
        }
        Header header = describe_machine(session_.device());
        add_arm(header, kArm, arm_);
        view_.emplace(header, options_.window_s);
        title_ = title_of(header);
        LogWriter nowhere("/dev/null", header);
        Recorder recorder(session_, nowhere, all_kinds());
        recorder.observe([this](Bytes records) { take(records); });
        recorder.start();
        follow(recorder);
        recorder.stop();
        screen_.show_last(title_, snapshot());
        return static_cast<int>(Exit::kOk);
    }

  private:
    // On the recorder's thread.
    void take(Bytes records) {
        const std::lock_guard lock(mutex_);
        while (!records.empty()) {
            const Framing frame = framing(records);
            const std::size_t whole = static_cast<std::size_t>(frame.prefix) + frame.length;
            if (overlay(records.first(whole), record_)) view_->add(record_);
            records = records.subspan(whole);
        }
    }

    LiveSnapshot snapshot() {
        const std::lock_guard lock(mutex_);
        return view_->snapshot(options_.worst);
    }

    void follow(const Recorder& recorder) {
        const auto begin = Clock::now();
        while (recorder.healthy() && control_.wait(kRefresh) == RunControl::Event::kNone) {
            screen_.show(title_, snapshot());
            const std::chrono::duration<double> elapsed = Clock::now() - begin;
            if (options_.duration_s > 0 && elapsed.count() >= options_.duration_s) return;
        }
    }

    const Options& options_;
    RunControl control_;  // before the session: its thread inherits the blocked signals
    Session session_;
    const ArmSpec arm_;
    Screen screen_;
    std::string title_;
    std::mutex mutex_;
    std::optional<LiveView> view_;
    model::Record record_;
};

class TopCommand : public Command {
  public:
    CLI::App* declare(CLI::App& app) override {
        auto* top = app.add_subcommand("top", "Show live what is decided, and the worst latencies");
        top->add_option("LOG", options_.log,
                        "Show the last seconds of this log instead; `-` is standard input");
        top->add_option("--watch", options_.watch,
                        "Process, by pid or name, whose latencies are shown; can be repeated")
            ->allow_extra_args(false);
        top->add_option("--arm", options_.arm, "Arm to put in force, as for `set`")
            ->capture_default_str();
        top->add_option("--duration", options_.duration_s, "Seconds to run (default: no limit)")
            ->check(CLI::PositiveNumber);
        top->add_option("--seconds", options_.window_s, "How far back it looks")
            ->check(CLI::Range(1, 60))
            ->capture_default_str();
        top->add_option("--worst", options_.worst, "How many latencies it shows")
            ->check(CLI::Range(1, 100))
            ->capture_default_str();
        top->footer(
            "Without LOG it needs root, the module and a session of its own, and keeps nothing.\n"
            "To keep the log as well:\n"
            "  fairswitch record -o - --watch 1234 | tee run.fsl | fairswitch top -\n"
            "Where there is no terminal it prints a line a second.");
        return top;
    }

    int run() override {
        return options_.log.empty() ? Watch(options_).run() : Replay(options_).run();
    }

  private:
    Options options_;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace fairswitch
