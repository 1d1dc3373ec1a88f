#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "userspace/experiment/machine_state.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

class MachineTest : public testing::Test {
  protected:
    void SetUp() override {
        put("/sys/devices/system/cpu/online", "0-3\n");
        put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        put("/sys/kernel/sched_ext/state", "disabled\n");
        put("/sys/power/suspend_stats/success", "2\n");
        put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
        put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
        put("/proc/stat", "cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2 3\n");
        before_ = MachineState::read(root_);
    }
    void TearDown() override { fs::remove_all(root_); }

    void put(const std::string& path, const std::string& text) {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    std::string void_now() const { return MachineState::read(root_).void_since(before_); }

    std::string root_ = testing::TempDir() + fmt::format("/machine.{}", getpid());
    MachineState before_;
};

TEST_F(MachineTest, IsReadAsItStands) {
    EXPECT_EQ(before_.online, "0-3");
    EXPECT_EQ(before_.steal_ticks, 88u);
    EXPECT_EQ(before_.throttles, 7u);
    EXPECT_EQ(void_now(), "");
}

TEST_F(MachineTest, HotplugVoids) {
    put("/sys/devices/system/cpu/online", "0-2\n");
    EXPECT_EQ(void_now(), "CPUs 0-3 were online, then 0-2");
}

TEST_F(MachineTest, SleepVoids) {
    put("/sys/power/suspend_stats/success", "3\n");
    EXPECT_EQ(void_now(), "the machine slept");
}

TEST_F(MachineTest, AnotherClockVoids) {
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    EXPECT_EQ(void_now(), "the clock source was tsc, then hpet");
}

TEST_F(MachineTest, AnotherSchedulerVoids) {
    put("/sys/kernel/sched_ext/state", "enabled\n");
    EXPECT_EQ(void_now(), "a sched_ext scheduler was in force");
    const MachineState during = MachineState::read(root_);
    put("/sys/kernel/sched_ext/state", "disabled\n");
    EXPECT_EQ(MachineState::read(root_).void_since(during), "a sched_ext scheduler was in force")
        << "also when it left in the middle";
}

TEST_F(MachineTest, AKernelWithoutTheFilesIsNoReason) {
    fs::remove_all(root_ + "/sys");
    const MachineState bare = MachineState::read(root_);
    EXPECT_EQ(bare.void_since(bare), "");
}

}  // namespace
}  // namespace fairswitch
