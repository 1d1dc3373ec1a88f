#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "userspace/base/failure.h"
#include "userspace/experiment/plan.h"

namespace fairswitch {
namespace {

Plan good_plan() {
    Plan plan;
    plan.add_arms()->set_set("stock");
    plan.add_arms()->set_set("dequeue-delayed=with,NO_RUN_TO_PARITY");
    plan.mutable_measure()->set_command("cyclictest -t 1 -i 2777 -v");
    plan.add_loads()->set_command("hackbench -g 1");
    return plan;
}

std::string refusal(Plan plan) {
    complete_plan(plan);
    try {
        check_plan(plan);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        return failure.what();
    }
    return "accepted";
}

TEST(Plan, DefaultsAreThoseTheProtoNames) {
    Plan plan = good_plan();
    complete_plan(plan);
    EXPECT_EQ(plan.block_seconds(), 1.5);
    EXPECT_EQ(plan.guard_seconds(), 0.25);
    EXPECT_EQ(plan.settle_seconds(), 3);
    EXPECT_EQ(plan.rounds(), 10u);
    EXPECT_EQ(plan.seed(), 1u);
    EXPECT_EQ(plan.detail(), "full");
    EXPECT_EQ(plan.arms(1).name(), "dequeue-delayed=with,NO_RUN_TO_PARITY");
    EXPECT_EQ(refusal(plan), "accepted");
    EXPECT_DOUBLE_EQ(planned_seconds(plan, 3), 10 * 3 * 1.75);
}

TEST(Plan, EachMistakeIsNamed) {
    struct Case {
        void (*spoil)(Plan&);
        const char* said;
    };
    const Case cases[] = {
        {[](Plan& plan) { plan.mutable_arms()->RemoveLast(); },
         "the plan names 1 arm(s), at least two are compared: for example stock and "
         "dequeue-delayed"},
        {[](Plan& plan) { plan.mutable_arms(1)->clear_set(); },
         "an arm of the plan sets nothing; `stock` is the kernel's own"},
        {[](Plan& plan) { plan.mutable_measure()->set_command("cyclictest -t 1"); },
         "the measuring program 'cyclictest -t 1' prints no single samples; add -v to cyclictest, "
         "or take `fairswitch waker`"},
        {[](Plan& plan) { plan.mutable_measure()->set_command("cyclictest -v -r"); },
         "the measuring program uses -r: relative periods have no expected moment to join with; "
         "leave -r out"},
        {[](Plan& plan) { plan.mutable_loads(0)->clear_command(); },
         "the plan's load has no command; expected a line of shell"},
        {[](Plan& plan) { plan.mutable_loads(0)->set_slice_ms(200); },
         "the plan's load.slice_ms is 200; expected 0.1 to 100"},
        {[](Plan& plan) { plan.mutable_loads(0)->set_policy("normal"); },
         "there is no policy 'normal'; there are: other batch idle fifo rr"},
        {[](Plan& plan) { plan.mutable_loads(0)->set_cpus("3-1"); },
         "'3-1' is no list of CPUs: 1 is before 3"},
        {[](Plan& plan) { plan.add_cgroups()->set_path("/sys/fs/cgroup/a"); },
         "the plan's cgroup path is '/sys/fs/cgroup/a'; expected a path below /sys/fs/cgroup, such "
         "as load/a"},
        {[](Plan& plan) { plan.add_cgroups()->set_path("a/../.."); },
         "the plan's cgroup path is 'a/../..'; expected a path below /sys/fs/cgroup, such as "
         "load/a"},
        {[](Plan& plan) { plan.add_features("run_to_parity"); },
         "the plan's features: 'run_to_parity' is no sched feature; expected one as in "
         "NO_RUN_TO_PARITY"},
        {[](Plan& plan) { plan.set_rounds(5000); },
         "the plan's rounds is 5000; expected 1 to 1000"},
        {[](Plan& plan) { plan.set_block_seconds(-1); },
         "the plan's block_seconds is -1; expected 0.05 to 3600"},
        {[](Plan& plan) { plan.set_detail("all"); },
         "the plan's detail is 'all'; expected full or brief"},
    };
    for (const Case& each : cases) {
        Plan plan = good_plan();
        each.spoil(plan);
        EXPECT_EQ(refusal(plan), each.said);
    }
}

TEST(Plan, ArmsArePartedIntoVariantsAndFeatures) {
    const ArmText both = part_arm("dequeue-delayed=with,NO_RUN_TO_PARITY+lag-clamp");
    EXPECT_EQ(both.variants, "dequeue-delayed=with,lag-clamp");
    EXPECT_EQ(both.features, std::vector<std::string>{"NO_RUN_TO_PARITY"});
    const ArmText feature = part_arm("NO_WAKEUP_PREEMPTION");
    EXPECT_EQ(feature.variants, "stock");
    EXPECT_EQ(feature.features, std::vector<std::string>{"NO_WAKEUP_PREEMPTION"});
    EXPECT_EQ(part_arm("stock").variants, "stock");
}

TEST(Plan, TheFirstArmIsRunTwice) {
    Plan plan = good_plan();
    complete_plan(plan);
    const std::vector<PlanArm> arms = arms_to_run(plan);
    ASSERT_EQ(arms.size(), 3u);
    EXPECT_EQ(arms[0].name(), "stock");
    EXPECT_EQ(arms[1].name(), "stock (2)");
    EXPECT_EQ(arms[1].set(), "stock");
    EXPECT_EQ(arms[2].set(), "dequeue-delayed=with,NO_RUN_TO_PARITY");
    plan.set_without_aa(true);
    EXPECT_EQ(arms_to_run(plan).size(), 2u);
}

TEST(Plan, AnAaPlanIsLeftAsItIs) {
    Plan plan = good_plan();
    plan.mutable_arms(1)->set_set("stock");
    complete_plan(plan);
    const std::vector<PlanArm> arms = arms_to_run(plan);
    ASSERT_EQ(arms.size(), 2u);
    EXPECT_EQ(arms[1].name(), "stock (2)");
}

class PlanFile : public testing::Test {
  protected:
    ~PlanFile() override { std::filesystem::remove(path_); }
    std::string with(const std::string& text) {
        std::ofstream(path_) << text;
        return path_;
    }
    std::string path_ = testing::TempDir() + fmt::format("/plan.{}.textproto", getpid());
};

TEST_F(PlanFile, IsRead) {
    const Plan plan = read_plan_file(with(R"(
        # seed 004
        arms { set: "stock" }  arms { name: "off" set: "requeue-clock=without" }
        measure { command: "fairswitch waker -b 200" cpus: "1" }
        loads { command: "spin" cgroup: "idle" }
        cgroups { path: "idle" idle: true }
        rounds: 12)"));
    EXPECT_EQ(plan.arms(1).name(), "off");
    EXPECT_EQ(plan.loads(0).cgroup(), "idle");
    EXPECT_TRUE(plan.cgroups(0).idle());
    EXPECT_EQ(plan.rounds(), 12u);
}

TEST_F(PlanFile, AMistakeHasLineAndColumn) {
    const std::string path = with("arms { set: \"stock\" }\n  armz { }\n");
    try {
        read_plan_file(path);
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("line 2, column 8: "), std::string::npos)
            << failure.what();
        EXPECT_NE(std::string(failure.what()).find("armz"), std::string::npos) << failure.what();
    }
}

TEST_F(PlanFile, AMissingOneIsNamed) {
    try {
        read_plan_file("/nowhere/plan");
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_STREQ(failure.what(), "cannot read the experiment file /nowhere/plan");
    }
}

TEST(Plan, StopRuleAndPowerComeFromThePlan) {
    Plan plan = good_plan();
    complete_plan(plan);
    StopOptions options = stop_options(plan);
    EXPECT_EQ(options.rounds, 10u);
    EXPECT_FALSE(options.seconds || options.narrow || options.watched);
    plan.mutable_stop()->set_narrow_row("P99.9");
    plan.mutable_stop()->set_seconds(60);
    plan.mutable_stop()->set_watched(true);
    complete_plan(plan);
    options = stop_options(plan);
    EXPECT_EQ(options.narrow->metric, Metric::kP999);
    EXPECT_EQ(options.narrow->percent, 20);
    EXPECT_EQ(options.seconds, 60);
    EXPECT_TRUE(options.watched);
    EXPECT_EQ(refusal(plan), "accepted");
    plan.mutable_stop()->set_narrow_row("Maximum");
    EXPECT_EQ(refusal(plan),
              "the plan's stop.narrow_row is 'Maximum'; rows with an interval are: Average, P50, "
              "P90, P99, P99.9, Above 1 ms, Above 2 ms, Above 4 ms");

    plan.mutable_measure()->set_command("cyclictest -t 2 -i 2000 -v");
    EXPECT_DOUBLE_EQ(power_plan(plan).rate_hz, 1000);
    EXPECT_EQ(power_plan(plan).compared_arms, 2u);  // the second column of the first arm is one
    plan.mutable_measure()->set_command("fairswitch waker -t4 --interval 500");
    EXPECT_DOUBLE_EQ(power_plan(plan).rate_hz, 8000);
}

}  // namespace
}  // namespace fairswitch
