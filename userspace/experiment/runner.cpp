#include "userspace/experiment/runner.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "userspace/analysis/cyclictest.h"
#include "userspace/analysis/interim.h"
#include "userspace/analysis/run.h"
#include "userspace/analysis/schedule.h"
#include "userspace/base/failure.h"
#include "userspace/device/environment.h"
#include "userspace/device/loaded_graft.h"
#include "userspace/device/proc_files.h"
#include "userspace/experiment/machine_state.h"
#include "userspace/experiment/plan.h"
#include "userspace/workload/task_attributes.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = 50ms;
constexpr auto kPatience = 3000ms;
// Longer than the recorder waits between two looks at its rings.
constexpr double kDrained_s = 0.06;
constexpr int kOwnNice = -15;

std::atomic<bool> interrupted{false};

uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Context switches of the machine since boot.
uint64_t machine_switches() {
    std::ifstream stat("/proc/stat");
    for (std::string word; stat >> word;) {
        uint64_t count = 0;
        if (word == "ctxt" && stat >> count) return count;
    }
    return 0;
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

size_t threads_of(pid_t pid) {
    std::error_code error;
    fs::directory_iterator tasks(fmt::format("/proc/{}/task", pid), error);
    return error ? 0 : static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

void ExperimentRun::interrupt() { interrupted = true; }

ExperimentRun::ExperimentRun(const ExperimentOptions& options) : options_(options) {
    check_open_files(asked_);
    fs::create_directories(options_.out);
    keep_off_pinned_cpus();
    take_machine();
    name_arms();
    open_files();
    compared_.resize(arms_.size() - 1);
    recorder_ = std::make_unique<Recorder>(*session_, *log_, all_kinds(),
                                           parse_detail(asked_.detail()));
    if (has_looks()) recorder_->observe([this](Bytes records) { live_.add(records); });
}

// Nobody else has the session now: what a killed run left behind is nobody's.
void ExperimentRun::take_machine() {
    Device device;
    variants_ = device.variants();
    session_ = std::make_unique<Session>(std::move(device));
    const std::string run = fs::canonical(options_.out).string();
    if (const size_t killed = options_.resume ? end_left_behind(run) : 0)
        std::cerr << fmt::format("{} processes of the killed run were ended\n", killed);
    for (const std::string& line : journal_.put_back())
        std::cerr << "a killed run left it changed: " << line << "\n";
    mark_programs(run);
    features_ = std::make_unique<SchedFeatures>(&journal_);
}

Header ExperimentRun::describe() const {
    Header header = describe_machine(session_->device());
    header.set_command(options_.command_line);
    header.set_graft(graft_manifest(options_.graft));
    for (size_t i = 0; i < arms_.size(); ++i)
        fairswitch::add_arm(header, arm_ids_[i], arms_[i]);
    return header;
}

// The plan tells of the part before its log is there: resuming, a log without a word in the plan
// would be taken for the part before it.
void ExperimentRun::open_files() {
    if (!options_.resume && fs::exists(options_.out + "/run.fsl"))
        fail(Exit::kUsage,
             "{} already holds a run; name another directory with --out, or go on with it by "
             "--resume",
             options_.out);
    const Header header = describe();
    if (options_.resume) go_on_with(resume_point(options_.out, header));
    plan_.add_parts()->set_first_round(rounds_);
    conditions_ = std::make_unique<Conditions>(asked_, &journal_);
    if (plan_.conditions_size() == 0)
        for (const std::string& line : conditions_->told()) plan_.add_conditions(line);
    ignore_write_signals();
    write_text_proto(options_.out + "/experiment.textproto", "fairswitch.Plan", asked_);
    save();
    log_ = std::make_unique<LogWriter>(file("run.fsl"), header);
}

void ExperimentRun::go_on_with(const ResumePoint& point) {
    if (point.done.arms_size() == 0) return;  // killed before it had begun
    Experiment done = point.done;
    // As given anew by the same plan.
    done.clear_arms();
    done.clear_plan();
    done.clear_ended();
    done.clear_stop_reason();
    plan_.MergeFrom(done);
    compared_ = point.compared;
    rounds_ = rounds_done(point.done);
    seconds_before_ = seconds_done(point.done);
    std::cerr << fmt::format("going on with round {} of {}\n", rounds_ + 1, asked_.rounds());
}

// Of this part of the run.
std::string ExperimentRun::file(const std::string& name) const {
    return options_.out + "/" + part_file(name, static_cast<uint32_t>(plan_.parts_size()));
}

// Where programs are pinned we would be part of what is measured: a burst of the recorder's stands
// in the way for milliseconds. Threads made from here on inherit it.
void ExperimentRun::keep_off_pinned_cpus() {
    cpus_ = allowed_cpus();
    std::vector<int> free = cpus_;
    const auto take = [&](const std::string& list) {
        if (list.empty()) return;
        for (const int cpu : parse_cpu_list(list)) std::erase(free, cpu);
    };
    take(asked_.measure().cpus());
    for (const Program& load : asked_.loads()) take(load.cpus());
    if (!free.empty() && free.size() < cpus_.size()) pin_to(free);
}

size_t ExperimentRun::add_arm(const PlanArm& asked) {
    const ArmText text = part_arm(asked.set());
    features_->check(text.features);
    ArmSpec arm = parse_arm(text.variants, variants_);
    arm.name = asked.name();
    std::vector<std::string> features(asked_.features().begin(), asked_.features().end());
    features.insert(features.end(), text.features.begin(), text.features.end());
    const bool stock = arm.positions == stock_positions(variants_) && text.features.empty();
    const bool first_stock = stock && std::find(arm_ids_.begin(), arm_ids_.end(), 0) == arm_ids_.end();
    // 0 is stock's own number; the others count from 1.
    arm_ids_.push_back(first_stock ? 0 : static_cast<uint32_t>(arm_ids_.size()) + 1);
    ExperimentArm* told = plan_.add_arms();
    told->set_id(arm_ids_.back());
    told->set_name(arm.name);
    told->set_positions(arm.positions);
    for (const std::string& feature : text.features) told->add_features(feature);
    arms_.push_back(std::move(arm));
    arm_features_.push_back(std::move(features));
    return arms_.size() - 1;
}

void ExperimentRun::name_arms() {
    features_->check({asked_.features().begin(), asked_.features().end()});
    for (const PlanArm& arm : arms_to_run(asked_)) add_arm(arm);
    *plan_.mutable_plan() = asked_;
    plan_.set_seed(asked_.seed());
    plan_.set_measure_command(asked_.measure().command());
    for (const Program& load : asked_.loads())
        plan_.set_load_command(plan_.load_command() + (plan_.load_command().empty() ? "" : "; ") +
                               load.command());
    plan_.set_block_seconds(asked_.block_seconds());
    plan_.set_guard_seconds(asked_.guard_seconds());
    plan_.set_settle_seconds(asked_.settle_seconds());
    plan_.set_rounds_planned(asked_.rounds());
    plan_.set_interval_us(CyclicCommand::parse(asked_.measure().command()).interval_us);
}

bool ExperimentRun::run() {
    StopRule rule(stop_options(asked_));
    // Looks that were taken before a resumed run was killed have spent their share.
    for (const Look& look : plan_.looks()) rule.after_round({look.rounds(), look.seconds()});
    planned_seconds_ = planned_seconds(asked_, arms_.size()) *
                       (asked_.rounds() - rounds_) / asked_.rounds();
    planned_seconds_ += asked_.settle_seconds();
    if (asked_.stop().seconds() != 0)
        planned_seconds_ = std::min(planned_seconds_, asked_.stop().seconds() - seconds_before_);
    return conduct([&] { return run_schedule(rule); });
}

// The rounds that are left of the schedule, as far as the stop rule lets it go.
bool ExperimentRun::run_schedule(StopRule& rule) {
    const auto order = draw_order(arms_.size(), asked_.rounds(), asked_.seed());
    while (rounds_ < order.size()) {
        const int first_block = plan_.blocks_size();
        if (!run_round(order[rounds_])) {
            plan_.set_stop_reason("interrupted");
            // With fewer rounds no table gives a verdict, so that none is spent on it.
            if (rounds_ >= kMinPairs) look(rule.interrupted(progress()));
            return false;
        }
        keep_round();
        if (has_looks()) remember_latencies(first_block);
        const StopAnswer answer = rule.after_round(progress());
        look(answer);
        save();
        if (answer.stop) return true;
        if (answer.alpha > 0 && asked_.stop().watched()) show_interim(answer.alpha);
    }
    return true;
}

bool ExperimentRun::has_looks() const {
    return asked_.stop().watched() || !asked_.stop().narrow_row().empty();
}

RunProgress ExperimentRun::progress() const {
    return {rounds_, seconds_before_ + seconds_since_start(), &compared_};
}

void ExperimentRun::look(const StopAnswer& answer) {
    if (answer.stop) plan_.set_stop_reason(answer.reason);
    if (answer.alpha <= 0 && !answer.stop) return;
    Look* look = plan_.add_looks();
    look->set_rounds(rounds_);
    look->set_seconds(progress().seconds);
    look->set_alpha(answer.alpha);
}

// A round that the plan tells of is whole in the files, whatever becomes of us.
void ExperimentRun::keep_round() {
    sleep_watching(kDrained_s);
    log_->flush();
    plan_.mutable_parts()->rbegin()->set_seconds(seconds_since_start());
}

void ExperimentRun::remember_latencies(int first_block) {
    RoundLatencies round;
    for (int i = first_block; i < plan_.blocks_size(); ++i) {
        const ExperimentBlock& block = plan_.blocks(i);
        if (block.void_reason().empty())
            round[block.round()][block.arm()] =
                live_.between(block.begin_ns(), block.end_ns(), plan_.measured_tgid());
    }
    live_.forget_before(plan_.blocks().rbegin()->end_ns());
    const auto pairs = paired(round, arm_ids_);
    for (size_t arm = 0; arm < pairs.size(); ++arm)
        compared_[arm].insert(compared_[arm].end(), pairs[arm].begin(), pairs[arm].end());
}

void ExperimentRun::show_interim(double alpha) {
    InterimInput input;
    for (const ArmSpec& arm : arms_) input.arms.push_back(arm.name);
    input.compared = compared_;
    input.rounds_planned = asked_.rounds();
    input.seconds_left = seconds_left();
    input.alpha = alpha;
    std::cerr << "\n" << interim_text(input) << "\n";
}

void ExperimentRun::save() { write_plan(options_.out + "/plan.textproto", plan_); }

bool ExperimentRun::conduct(const std::function<bool()>& body) {
    begin_ = Clock::now();
    std::exception_ptr error;
    std::string ended = "complete";
    // The recorder's thread inherits this. Among a load's tasks at the same priority it would be
    // late at its rings and lose records; the programs that it starts get theirs back.
    setpriority(PRIO_PROCESS, 0, kOwnNice);
    try {
        recorder_->start();
        session_->mark(MARKER_RECORD_BEGIN, 0);
        start_measuring();
        start_loads();
        tell(fmt::format("settling for {:.0f} s", asked_.settle_seconds()));
        if (!sleep_watching(asked_.settle_seconds()) || !body()) ended = "interrupted";
    } catch (const std::exception& failure) {
        error = std::current_exception();
        ended = failure.what();
    }
    stop_programs();
    plan_.set_ended(ended);
    save();
    try {
        finish_log(ended);
    } catch (...) {
        if (!error) error = std::current_exception();
    }
    session_.reset();
    if (error) std::rethrow_exception(error);
    return ended == "complete";
}

void ExperimentRun::start_measuring() {
    // `exec`: the process watched must be the program itself, not a shell.
    measure_ = std::make_unique<ChildProcess>("exec " + asked_.measure().command(),
                                              file("measure.txt"));
    place(*measure_, asked_.measure(), "measure");
    session_->watch_process(measure_->pid());
    plan_.set_measured_tgid(static_cast<uint32_t>(measure_->pid()));
    save();
    measure_->release();
    tell("starting: " + asked_.measure().command());
    for (int tick = 0; tick < 200 && threads_of(measure_->pid()) < 2 && !interrupted; ++tick) {
        std::this_thread::sleep_for(kTick);
        if (!measure_->running())
            fail(Exit::kRunFailed, "the measuring program ended at once ({}): {}\n{}",
                 measure_->outcome(), asked_.measure().command(), measure_->last_words());
    }
}

// What was set of a program is told once, at its first start.
void ExperimentRun::place(const ChildProcess& child, const Program& program, const char* role) {
    pin_to(cpus_, child.pid());  // not where we keep to
    const std::string line = conditions_->place(child.pid(), program);
    if (line.empty()) return;
    const std::string told = fmt::format("{} `{}`: {}", role, program.command(), line);
    const auto& known = plan_.conditions();
    if (std::find(known.begin(), known.end(), told) == known.end()) plan_.add_conditions(told);
}

void ExperimentRun::start_loads() {
    for (int i = 0; i < asked_.loads_size(); ++i) {
        loads_.start(static_cast<size_t>(i));
        tell("load: " + asked_.loads(i).command());
    }
}

void ExperimentRun::check_programs() {
    session_->check_alive();
    if (!recorder_->healthy()) fail(Exit::kRunFailed, "the recorder gave up");
    if (!measure_->running())
        fail(Exit::kRunFailed, "the measuring program ended early ({}):\n{}", measure_->outcome(),
             measure_->last_words());
    loads_.check();
}

bool ExperimentRun::sleep_watching(double seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!interrupted) {
        check_programs();
        const auto left = end - Clock::now();
        if (left <= 0s) return true;
        std::this_thread::sleep_for(
            std::min<std::chrono::duration<double>>(left, std::chrono::duration<double>(kTick)));
    }
    return false;
}

bool ExperimentRun::measure_rounds(const std::vector<size_t>& arms, uint32_t rounds) {
    // Later batches draw anew, and the same again for the same seed.
    const auto order = draw_order(arms.size(), rounds, asked_.seed() + batches_++);
    for (const auto& round : order) {
        std::vector<size_t> ordered;
        for (const size_t arm : round) ordered.push_back(arms[arm]);
        if (!run_round(ordered)) return false;
        save();
    }
    return true;
}

bool ExperimentRun::run_round(const std::vector<size_t>& arms) {
    for (const size_t arm : arms) {
        run_block(arm);
        if (interrupted) return false;
    }
    ++rounds_;
    return true;
}

void ExperimentRun::run_block(size_t arm) {
    const auto number = static_cast<uint32_t>(plan_.blocks_size());
    tell(fmt::format("round {}, block {}, {}", rounds_ + 1, number + 1, arms_[arm].name));
    features_->set(arm_features_[arm]);
    const fsw_set swap = session_->set(arm_ids_[arm], arms_[arm].positions);
    if (!sleep_watching(asked_.guard_seconds())) return;
    ExperimentBlock block;
    block.set_number(number);
    block.set_round(rounds_);
    block.set_arm(arm_ids_[arm]);
    block.set_swap_ns(swap.end_ns - swap.begin_ns);
    session_->mark(MARKER_BLOCK_BEGIN, number);
    block.set_begin_ns(monotonic_ns());
    const uint64_t switches = machine_switches();
    const MachineState before = MachineState::read();
    // An interrupted block has no end mark and isn't used.
    if (!sleep_watching(asked_.block_seconds())) return;
    block.set_switches(machine_switches() - switches);
    block.set_end_ns(monotonic_ns());
    session_->mark(MARKER_BLOCK_END, number);
    const MachineState after = MachineState::read();
    block.set_void_reason(after.void_since(before));
    block.set_steal_ticks(after.steal_ticks - before.steal_ticks);
    block.set_throttles(after.throttles - before.throttles);
    *plan_.add_blocks() = block;
}

void ExperimentRun::stop_programs() {
    const Loads::Ran ran = loads_.stop(kPatience);
    plan_.set_load_seconds(ran.seconds);
    plan_.set_load_result(ran.text);
    if (measure_) {
        // The printing thread catches up, now that the CPUs are free.
        if (measure_->running()) std::this_thread::sleep_for(500ms);
        measure_->stop(SIGINT, kPatience);
        measure_.reset();
    }
}

void ExperimentRun::finish_log(const std::string& reason) {
    std::exception_ptr error;
    try {
        recorder_->stop();
    } catch (...) {
        error = std::current_exception();
    }
    log_->close(recorder_->end_record(reason));
    if (!recorder_->violations().empty())
        std::cerr << "The books of the rings don't balance:\n" << recorder_->violations();
    if (error) std::rethrow_exception(error);
}

double ExperimentRun::seconds_since_start() const { return seconds_between(begin_, Clock::now()); }

double ExperimentRun::seconds_left() const {
    return std::max(0.0, planned_seconds_ - seconds_since_start());
}

void ExperimentRun::tell(const std::string& what) {
    static const bool terminal = isatty(STDERR_FILENO);
    std::string line = fmt::format("[{:5.1f} s] {}", seconds_since_start(), what);
    if (planned_seconds_ > 0) line += fmt::format("; about {:.0f} s left", seconds_left());
    std::cerr << (terminal ? "\r\033[K" : "") << line << (terminal ? "" : "\n") << std::flush;
}

}  // namespace fairswitch
