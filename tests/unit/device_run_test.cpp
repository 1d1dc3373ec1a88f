// Commands run beside a recording, and files that pretend to be modules.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "userspace/base/failure.h"
#include "userspace/device/module_file.h"
#include "userspace/device/proc_files.h"
#include "userspace/device/run_control.h"
#include "userspace/device/watching.h"

namespace fairswitch {
namespace {

using Event = RunControl::Event;
using std::chrono::milliseconds;

TEST(RunControl, TellsHowACommandEnded) {
    RunControl control;
    control.prepare({"sh", "-c", "exit 3"});
    control.go();
    EXPECT_EQ(control.wait(milliseconds(10'000)), Event::kCommandEnded);
    EXPECT_EQ(control.command_trouble(), "sh exited with status 3");
    control.prepare({"true"});
    control.go();
    EXPECT_EQ(control.wait(milliseconds(10'000)), Event::kCommandEnded);
    EXPECT_EQ(control.command_trouble(), "");
}

TEST(RunControl, NothingRunsBeforeGo) {
    RunControl control;
    const pid_t child = control.prepare({"true"});
    EXPECT_EQ(control.wait(milliseconds(50)), Event::kNone);
    EXPECT_EQ(::kill(child, 0), 0);
    // Given up before go(): it leaves without having run.
    control.end_command();
    EXPECT_EQ(::kill(child, 0), -1);
}

TEST(RunControl, NamesACommandThatIsNotThere) {
    RunControl control;
    control.prepare({"/nonexistent/program"});
    try {
        control.go();
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("/nonexistent/program"), std::string::npos);
    }
}

TEST(RunControl, SignalsAreEvents) {
    RunControl control;
    ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
    EXPECT_EQ(control.wait(milliseconds(10'000)), Event::kSignal);
    EXPECT_EQ(control.signal(), SIGINT);
    EXPECT_EQ(control.wait(milliseconds(1)), Event::kNone);
}

// Descriptors of ours that an exec would pass on.
std::string inheritable_descriptors() {
    std::string list;
    for (int fd = 0; fd < 1024; ++fd) {
        const int flags = ::fcntl(fd, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) list += std::to_string(fd) + " ";
    }
    return list;
}

// The child must hold neither device nor rings, nor anything else that this program opened.
TEST(RunControl, TheCommandInheritsNoDescriptorOfOurs) {
    const std::string expected = inheritable_descriptors();
    const std::string list = std::filesystem::temp_directory_path() /
                             ("fairswitch-descriptors-" + std::to_string(::getpid()));
    RunControl control;
    // Before any pipe is made, and redirected for good: a pipeline's ends, and the copy that a shell
    // keeps of what it redirects for one command, would be listed too.
    control.prepare({"sh", "-c",
                     "exec > " + list + ".raw; ls /proc/$$/fd; sort -n " + list +
                         ".raw | tr '\\n' ' ' > " + list});
    control.go();
    EXPECT_EQ(control.wait(milliseconds(10'000)), Event::kCommandEnded);
    EXPECT_EQ(first_line(list), expected);
    std::filesystem::remove(list);
    std::filesystem::remove(list + ".raw");
}

TEST(ModuleFile, RefusesWhatIsNoModule) {
    EXPECT_THROW(read_module_file("/nonexistent.ko"), Failure);
    // A text file, and an ELF file that is no module.
    EXPECT_THROW(read_module_file(FAIRSWITCH_SOURCE "/CMakeLists.txt"), Failure);
    EXPECT_THROW(read_module_file("/proc/self/exe"), Failure);
}

TEST(Watching, FindsByPidAndName) {
    if (!std::filesystem::exists("/proc/self/ns/pid") ||
        std::filesystem::read_symlink("/proc/self/ns/pid") != "pid:[4026531836]") {
        EXPECT_THROW(find_processes("1"), Failure);
        GTEST_SKIP() << "in a container: pids can't be watched here, and are refused";
    }
    EXPECT_EQ(find_processes("1234567"), std::vector<pid_t>{1234567});
    const std::string own = first_line("/proc/self/comm");
    const auto found = find_processes(own);
    EXPECT_NE(std::find(found.begin(), found.end(), ::getpid()), found.end());
    EXPECT_THROW(find_processes("no such process"), Failure);
}

}  // namespace
}  // namespace fairswitch
