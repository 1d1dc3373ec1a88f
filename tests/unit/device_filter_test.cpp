// Filters: from the command line to the kernel's struct, the log's header and back to words.
#include "userspace/device/filter.h"

#include <gtest/gtest.h>

#include <cstring>

#include "userspace/base/failure.h"
#include "userspace/log/filter_text.h"

namespace fairswitch {
namespace {

TEST(Filter, NothingAskedForIsNone) {
    const ParsedFilter filter = parse_filter({});
    EXPECT_FALSE(filter.used);
    const fsw_filter none{};
    EXPECT_EQ(std::memcmp(&filter.kernel, &none, sizeof(none)), 0);
    EXPECT_EQ(filter_text(filter.log), "");
}

TEST(Filter, EveryPartReachesKernelAndLog) {
    const ParsedFilter filter = parse_filter({.pid = 12,
                                              .tgid = 11,
                                              .cgroup = "",
                                              .comm = "hackbench",
                                              .cpus = "65,0,2-3",
                                              .sample = 10,
                                              .short_slice = true,
                                              .paths = "pick-keep,cancel-preempt"});
    EXPECT_TRUE(filter.used);
    EXPECT_EQ(filter.kernel.pid, 12u);
    EXPECT_EQ(filter.kernel.tgid, 11u);
    EXPECT_STREQ(filter.kernel.comm, "hackbench");
    EXPECT_EQ(filter.kernel.cpus[0], 0b1101u);
    EXPECT_EQ(filter.kernel.cpus[1], 0b10u);
    EXPECT_EQ(filter.kernel.sample, 10u);
    EXPECT_EQ(filter.kernel.short_slice, 1u);
    EXPECT_EQ(filter.kernel.paths, 1u << FSW_PATH_PICK_KEEP | 1u << FSW_PATH_CANCEL_PREEMPT);
    EXPECT_EQ(filter_text(filter.log),
              "pid 12, process 11, name hackbench, CPUs 0,2-3,65, short-slice wakees, paths "
              "pick-keep,cancel-preempt, 1 in 10");
}

TEST(Filter, EveryPathHasItsName) {
    for (int path = 1; path <= Path_MAX; ++path) {
        Filter one;
        one.add_paths(static_cast<Path>(path));
        const std::string text = filter_text(one);
        EXPECT_EQ(parse_filter({.paths = text.substr(6)}).kernel.paths, 1u << path) << text;
        EXPECT_NE(FSW_ALL_PATHS & 1u << path, 0u);
    }
    EXPECT_EQ(FSW_ALL_PATHS >> (Path_MAX + 1), 0u);
}

TEST(Filter, WrongOnesAreRefusedByName) {
    const auto message = [](const FilterOptions& options) -> std::string {
        try {
            parse_filter(options);
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.exit(), Exit::kUsage);
            return failure.what();
        }
        return "accepted";
    };
    EXPECT_NE(message({.cpus = "0,x"}).find("`0,x`"), std::string::npos);
    EXPECT_NE(message({.cpus = "3-2"}).find("`3-2`"), std::string::npos);
    EXPECT_NE(message({.cpus = "0-1024"}).find("1024"), std::string::npos);
    EXPECT_NE(message({.cpus = "1,"}).find("`1,`"), std::string::npos);
    EXPECT_NE(message({.paths = "unspecified"}).find("pick-keep"), std::string::npos);
    EXPECT_NE(message({.paths = "nonsense"}).find("`nonsense`"), std::string::npos);
    EXPECT_NE(message({.comm = "sixteen-bytes-of"}).find("sixteen-bytes-of"), std::string::npos);
    EXPECT_NE(message({.cgroup = "/no/such/group"}).find("/no/such/group"), std::string::npos);
    EXPECT_NE(message({.cgroup = "/tmp"}).find("cgroup2"), std::string::npos);
}

}  // namespace
}  // namespace fairswitch
