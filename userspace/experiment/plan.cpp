#include "userspace/experiment/plan.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "userspace/analysis/cyclictest.h"
#include "userspace/base/failure.h"
#include "userspace/workload/task_attributes.h"

namespace fairswitch {
namespace {

class FirstError : public google::protobuf::io::ErrorCollector {
  public:
    void AddError(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
        if (text_.empty()) text_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

void check_range(const char* field, double value, double least, double most) {
    if (value < least || value > most)
        fail(Exit::kUsage, "the plan's {} is {}; expected {} to {}", field, value, least, most);
}

void check_program(const std::string& role, const Program& program) {
    if (program.command().empty())
        fail(Exit::kUsage, "the plan's {} has no command; expected a line of shell", role);
    if (program.slice_ms() != 0) check_range((role + ".slice_ms").c_str(), program.slice_ms(), 0.1, 100);
    check_range((role + ".nice").c_str(), program.nice(), -20, 19);
    check_range((role + ".priority").c_str(), program.priority(), 0, 99);
    if (!program.policy().empty()) parse_policy(program.policy());
    if (!program.cpus().empty()) parse_cpu_list(program.cpus());
}

void check_measure(const Program& measure) {
    check_program("measure", measure);
    const CyclicCommand command = CyclicCommand::parse(measure.command());
    if (!command.verbose)
        fail(Exit::kUsage,
             "the measuring program '{}' prints no single samples; add -v to cyclictest, or take "
             "`fairswitch waker`",
             measure.command());
    if (command.relative)
        fail(Exit::kUsage,
             "the measuring program uses -r: relative periods have no expected moment to join "
             "with; leave -r out");
}

void check_cgroup(const Cgroup& cgroup) {
    const std::string& path = cgroup.path();
    if (path.empty() || path[0] == '/' || path.find("..") != std::string::npos)
        fail(Exit::kUsage,
             "the plan's cgroup path is '{}'; expected a path below /sys/fs/cgroup, such as load/a",
             path);
    if (cgroup.weight() != 0) check_range("cgroup weight", cgroup.weight(), 1, 10000);
    if (cgroup.idle() && cgroup.weight() != 0)
        fail(Exit::kUsage, "the plan's cgroup {} is idle and has a weight; only one can be", path);
}

void check_features(const std::string& where, const std::vector<std::string>& features) {
    for (const std::string& feature : features) {
        const bool capitals = !feature.empty() && std::all_of(feature.begin(), feature.end(), [](char c) {
            return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        });
        if (!capitals)
            fail(Exit::kUsage, "{}: '{}' is no sched feature; expected one as in NO_RUN_TO_PARITY",
                 where, feature);
    }
}

void check_stop(const Stop& stop) {
    if (stop.seconds() != 0) check_range("stop.seconds", stop.seconds(), 1, 1e7);
    if (stop.narrow_row().empty()) return;
    check_range("stop.narrow_percent", stop.narrow_percent(), 0.1, 1000);
    const auto metric = metric_of_row(stop.narrow_row());
    if (metric && *metric != Metric::kMaximum) return;
    std::string rows;
    for (const Metric other : all_metrics())
        if (other != Metric::kMaximum)
            rows += (rows.empty() ? "" : ", ") + std::string(metric_row(other));
    fail(Exit::kUsage, "the plan's stop.narrow_row is '{}'; rows with an interval are: {}",
         stop.narrow_row(), rows);
}

}  // namespace

Plan read_plan_file(const std::string& path) {
    std::ifstream in(path);
    if (!in) fail(Exit::kUsage, "cannot read the experiment file {}", path);
    std::stringstream text;
    text << in.rdbuf();
    FirstError error;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&error);
    Plan plan;
    if (!parser.ParseFromString(text.str(), &plan))
        fail(Exit::kUsage,
             "{} is no experiment file: {}. Expected fairswitch.Plan of proto/experiment.proto in "
             "protobuf text format; scripts/experiments/ has some",
             path, error.text());
    return plan;
}

void complete_plan(Plan& plan) {
    if (plan.block_seconds() == 0) plan.set_block_seconds(1.5);
    if (plan.guard_seconds() == 0) plan.set_guard_seconds(0.25);
    if (plan.settle_seconds() == 0) plan.set_settle_seconds(3);
    if (plan.rounds() == 0) plan.set_rounds(10);
    if (plan.seed() == 0) plan.set_seed(1);
    if (plan.detail().empty()) plan.set_detail("full");
    if (!plan.stop().narrow_row().empty() && plan.stop().narrow_percent() == 0)
        plan.mutable_stop()->set_narrow_percent(20);
    for (PlanArm& arm : *plan.mutable_arms())
        if (arm.name().empty()) arm.set_name(arm.set());
}

void check_plan(const Plan& plan) {
    if (plan.arms_size() < 2)
        fail(Exit::kUsage,
             "the plan names {} arm(s), at least two are compared: for example stock and "
             "dequeue-delayed",
             plan.arms_size());
    for (const PlanArm& arm : plan.arms()) {
        if (arm.set().empty())
            fail(Exit::kUsage, "an arm of the plan sets nothing; `stock` is the kernel's own");
        check_features("arm " + arm.name(), part_arm(arm.set()).features);
    }
    check_measure(plan.measure());
    for (const Program& load : plan.loads()) check_program("load", load);
    for (const Cgroup& cgroup : plan.cgroups()) check_cgroup(cgroup);
    check_features("the plan's features", {plan.features().begin(), plan.features().end()});
    if (plan.base_slice_ms() != 0) check_range("base_slice_ms", plan.base_slice_ms(), 0.1, 100);
    check_range("block_seconds", plan.block_seconds(), 0.05, 3600);
    check_range("guard_seconds", plan.guard_seconds(), 0, 60);
    check_range("settle_seconds", plan.settle_seconds(), 0, 600);
    check_range("rounds", plan.rounds(), 1, 1000);
    check_stop(plan.stop());
    if (plan.detail() != "full" && plan.detail() != "brief")
        fail(Exit::kUsage, "the plan's detail is '{}'; expected full or brief", plan.detail());
}

ArmText part_arm(std::string_view text) {
    ArmText arm;
    while (!text.empty()) {
        const std::string item(text.substr(0, text.find_first_of(",+")));
        const bool feature =
            item.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos;
        if (feature)
            arm.features.push_back(item);
        else
            arm.variants += (arm.variants.empty() ? "" : ",") + item;
        text.remove_prefix(std::min(text.size(), item.size() + 1));
    }
    if (arm.variants.empty()) arm.variants = "stock";
    return arm;
}

std::vector<PlanArm> arms_to_run(const Plan& plan) {
    std::vector<PlanArm> arms(plan.arms().begin(), plan.arms().end());
    const auto twins = std::count_if(arms.begin(), arms.end(), [&](const PlanArm& arm) {
        return arm.set() == arms.front().set();
    });
    if (!plan.without_aa() && twins == 1) arms.insert(arms.begin() + 1, arms.front());
    // Names tell columns apart.
    for (size_t i = 0; i < arms.size(); ++i) {
        const auto before = std::count_if(arms.begin(), arms.begin() + i, [&](const PlanArm& arm) {
            return arm.set() == arms[i].set();
        });
        if (before) arms[i].set_name(arms[i].name() + fmt::format(" ({})", before + 1));
    }
    return arms;
}

StopOptions stop_options(const Plan& plan) {
    StopOptions options;
    options.rounds = plan.rounds();
    if (plan.stop().seconds() != 0) options.seconds = plan.stop().seconds();
    if (const auto metric = metric_of_row(plan.stop().narrow_row()))
        options.narrow = NarrowEnough{*metric, plan.stop().narrow_percent()};
    options.watched = plan.stop().watched();
    return options;
}

PowerPlan power_plan(const Plan& plan) {
    const CyclicCommand measure = CyclicCommand::parse(plan.measure().command());
    PowerPlan power;
    power.rounds = plan.rounds();
    power.block_seconds = plan.block_seconds();
    power.rate_hz = 1e6 * measure.threads / static_cast<double>(measure.interval_us);
    power.compared_arms = arms_to_run(plan).size() - 1;
    return power;
}

double planned_seconds(const Plan& plan, size_t arms) {
    return plan.rounds() * arms * (plan.block_seconds() + plan.guard_seconds());
}

}  // namespace fairswitch
