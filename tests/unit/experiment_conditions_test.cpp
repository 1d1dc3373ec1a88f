// Against plain files that stand for the kernel's: what is written, read back, and put back.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/experiment/conditions.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// Tests run beside each other, each in a process of its own.
std::string own_path(const char* name) {
    return testing::TempDir() + fmt::format("/{}.{}", name, getpid());
}

class ConditionsTest : public testing::Test {
  protected:
    void SetUp() override {
        root_ = own_path("conditions");
        fs::remove_all(root_);
        fs::create_directories(root_ / "cgroup");
        std::ofstream(root_ / "cgroup/cgroup.controllers") << "cpu\n";
        std::ofstream(root_ / "slice") << "2800000\n";
    }
    void TearDown() override { fs::remove_all(root_); }

    std::string cgroup() const { return (root_ / "cgroup").string(); }
    std::string slice() const { return (root_ / "slice").string(); }

    fs::path root_;
};

TEST_F(ConditionsTest, CgroupsAreMadeWithTheirSettings) {
    Plan plan;
    Cgroup* idle = plan.add_cgroups();
    idle->set_path("load/idle");
    idle->set_idle(true);
    Cgroup* limited = plan.add_cgroups();
    limited->set_path("load/limited");
    limited->set_weight(50);
    limited->set_max("20000 100000");
    const Conditions conditions(plan, nullptr, cgroup(), slice());
    EXPECT_EQ(read(root_ / "cgroup/cgroup.subtree_control"), "+cpu");
    EXPECT_EQ(read(root_ / "cgroup/load/cgroup.subtree_control"), "+cpu");
    EXPECT_EQ(read(root_ / "cgroup/load/idle/cpu.idle"), "1");
    EXPECT_EQ(read(root_ / "cgroup/load/limited/cpu.max"), "20000 100000");
    EXPECT_EQ(conditions.told(),
              (std::vector<std::string>{
                  "cgroup load/idle, cpu.idle 1",
                  "cgroup load/limited, cpu.weight 50, cpu.max 20000 100000"}));
}

TEST_F(ConditionsTest, TheBaseSliceIsPutBack) {
    Plan plan;
    plan.set_base_slice_ms(1.4);
    {
        const Conditions conditions(plan, nullptr, cgroup(), slice());
        EXPECT_EQ(read(slice()), "1400000");
        EXPECT_EQ(conditions.told(),
                  (std::vector<std::string>{"base slice 1400000 ns (was 2800000 ns)"}));
    }
    EXPECT_EQ(read(slice()), "2800000");
}

TEST_F(ConditionsTest, AMachineWithoutCgroupsIsRefused) {
    fs::remove(root_ / "cgroup/cgroup.controllers");
    Plan plan;
    plan.add_cgroups()->set_path("a");
    try {
        Conditions(plan, nullptr, cgroup(), slice());
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kImpossible);
        EXPECT_EQ(failure.what(), cgroup() + " is no cgroup v2 hierarchy; mount one there");
    }
}

TEST_F(ConditionsTest, AProgramsCgroupMustBeThere) {
    const Conditions conditions(Plan{}, nullptr, cgroup(), slice());
    Program program;
    program.set_command("spin");
    program.set_cgroup("nowhere");
    try {
        conditions.place(1, program);
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_STREQ(failure.what(),
                     "there is no cgroup nowhere for `spin`; list it among the plan's cgroups");
    }
}

// A file that keeps only the last word written is enough to see what is written.
class FeaturesTest : public testing::Test {
  protected:
    void SetUp() override {
        file_ = own_path("features");
        std::ofstream(file_) << "PLACE_LAG NO_NEXT_BUDDY RUN_TO_PARITY\n";
    }
    void TearDown() override { fs::remove(file_); }
    std::string file_;
};

TEST_F(FeaturesTest, OnlyWhatDiffersIsWritten) {
    SchedFeatures features(nullptr, file_);
    features.set({"PLACE_LAG"});
    EXPECT_EQ(read(file_), "PLACE_LAG NO_NEXT_BUDDY RUN_TO_PARITY\n") << "nothing to write";
    features.set({"NO_RUN_TO_PARITY"});
    EXPECT_EQ(read(file_), "NO_RUN_TO_PARITY");
    features.set({});
    EXPECT_EQ(read(file_), "RUN_TO_PARITY") << "as it was found";
}

TEST_F(FeaturesTest, ArePutBackAtTheEnd) {
    {
        SchedFeatures features(nullptr, file_);
        features.set({"NEXT_BUDDY"});
        EXPECT_EQ(read(file_), "NEXT_BUDDY");
    }
    EXPECT_EQ(read(file_), "NO_NEXT_BUDDY");
}

TEST_F(FeaturesTest, UnknownOnesAreNamed) {
    const SchedFeatures features(nullptr, file_);
    try {
        features.check({"NO_FOO"});
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_STREQ(failure.what(),
                     "this kernel has no sched feature FOO; it has: PLACE_LAG NEXT_BUDDY "
                     "RUN_TO_PARITY");
    }
}

TEST_F(FeaturesTest, WithoutTheFileOnlyPlansWithoutFeaturesRun) {
    SchedFeatures features(nullptr, "/nowhere/features");
    EXPECT_FALSE(features.readable());
    features.set({});
    EXPECT_THROW(features.check({"PLACE_LAG"}), Failure);
}

TEST(OpenFiles, HackbenchsNeed) {
    EXPECT_EQ(hackbench_files("hackbench -T -p -l 16000000 -g 2"), 16u + 2 * 20 * 2);
    EXPECT_EQ(hackbench_files("chrt -o 0 /usr/bin/hackbench --threads --groups=4 -f 10"),
              16u + 2 * 10 * 4);
    EXPECT_EQ(hackbench_files("hackbench -g50 -f10"), 16u + 2 * 10) << "processes have their own";
    EXPECT_EQ(hackbench_files("stress-ng --cpu 2"), 0u);
}

TEST(OpenFiles, TooManyAreRefused) {
    Plan plan;
    plan.add_loads()->set_command("hackbench -T -g 100000000");
    try {
        check_open_files(plan);
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("raise it with `ulimit -n 4000000016`"),
                  std::string::npos)
            << failure.what();
    }
}

}  // namespace
}  // namespace fairswitch
