// What a log's header says about the machine.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/scratch_folder.h"
#include "userspace/device/host.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

class HostFiles : public ::testing::Test {
  protected:
    void write(const std::string& path, const std::string& text) {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text << "\n";
    }

    Header described(std::uint32_t cpus) {
        Header header;
        header.set_cpus(cpus);
        describe_host(header, root_);
        return header;
    }

    const testing::ScratchFolder folder_;
    const std::string root_ = folder_.path();
};

TEST_F(HostFiles, PlacesOfCpus) {
    const std::string cpu = "/sys/devices/system/cpu/cpu1";
    write(cpu + "/topology/core_id", "4");
    write(cpu + "/topology/die_id", "0");
    write(cpu + "/topology/physical_package_id", "1");
    write(cpu + "/cache/index0/shared_cpu_list", "1");
    write(cpu + "/cache/index1/shared_cpu_list", "0-3,8-11");
    write(cpu + "/cpufreq/cpuinfo_max_freq", "3400000");
    fs::create_directories(root_ + cpu + "/node7");
    const Header header = described(4);
    ASSERT_EQ(header.topology_size(), 1);  // CPU 0, 2 and 3 aren't there
    const CpuPlace& place = header.topology(0);
    EXPECT_EQ(place.cpu(), 1u);
    EXPECT_EQ(place.core(), 4u);
    EXPECT_TRUE(place.has_die());
    EXPECT_EQ(place.package(), 1u);
    EXPECT_EQ(place.node(), 7u);
    EXPECT_TRUE(place.has_last_level_cache());
    EXPECT_EQ(place.last_level_cache(), 0u);
    EXPECT_EQ(place.most_khz(), 3'400'000u);
    EXPECT_FALSE(place.has_capacity());
}

TEST_F(HostFiles, HostsAreToldApartWithoutTheirId) {
    const std::string secret = "3d1219c7c4c5404aaa1f6d2a48adfda4";
    write("/proc/sys/kernel/random/boot_id", "one");
    const std::string by_boot = described(0).host_id();
    write("/etc/machine-id", secret);
    const std::string by_machine = described(0).host_id();
    EXPECT_EQ(by_boot.size(), 16u);
    EXPECT_EQ(by_machine.size(), 16u);
    EXPECT_NE(by_boot, by_machine);
    EXPECT_EQ(secret.find(by_machine), std::string::npos);
    write("/proc/sys/kernel/random/boot_id", "two");
    EXPECT_EQ(described(0).host_id(), by_machine);
}

TEST(Host, ThisMachineHasCpus) {
    Header header;
    header.set_cpus(1);
    describe_host(header);
    EXPECT_EQ(header.topology_size(), 1);
    EXPECT_FALSE(header.host_id().empty());
}

}  // namespace
}  // namespace fairswitch
