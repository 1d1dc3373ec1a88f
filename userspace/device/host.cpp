#include "userspace/device/host.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

// FNV-1a. Of 128 random bits it leaves 64: enough to tell hosts apart, and no way back.
std::uint64_t hash(const std::string& text) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return value;
}

std::string host_id(const std::string& root) {
    for (const char* path :
         {"/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/random/boot_id"}) {
        const std::string id = first_line(root + path);
        if (!id.empty()) return fmt::format("{:016x}", hash("fairswitch " + id));
    }
    return "";
}

// The number that a file begins with; of a list such as "0-3,8" the lowest CPU.
std::optional<std::uint32_t> number_in(const std::string& path) {
    const std::string line = first_line(path);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

std::optional<std::uint32_t> node_of(const fs::path& directory) {
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename();
        std::uint32_t node = 0;
        if (!name.starts_with("node")) continue;
        const auto [rest, bad] = std::from_chars(name.data() + 4, name.data() + name.size(), node);
        if (bad == std::errc() && rest == name.data() + name.size()) return node;
    }
    return std::nullopt;
}

// The caches are numbered upwards from the CPU.
std::optional<std::uint32_t> last_level_cache(const std::string& directory) {
    std::optional<std::uint32_t> lowest;
    for (int index = 0;; ++index) {
        const auto next =
            number_in(fmt::format("{}/cache/index{}/shared_cpu_list", directory, index));
        if (!next) return lowest;
        lowest = next;
    }
}

void describe_cpu(CpuPlace& place, const std::string& directory) {
    const auto read = [&](const char* file, auto set) {
        if (const auto value = number_in(directory + file)) (place.*set)(*value);
    };
    read("/topology/core_id", &CpuPlace::set_core);
    read("/topology/die_id", &CpuPlace::set_die);
    read("/topology/physical_package_id", &CpuPlace::set_package);
    read("/cpu_capacity", &CpuPlace::set_capacity);
    read("/cpufreq/cpuinfo_max_freq", &CpuPlace::set_most_khz);
    if (const auto node = node_of(directory)) place.set_node(*node);
    if (const auto cache = last_level_cache(directory)) place.set_last_level_cache(*cache);
}

}  // namespace

void describe_host(Header& header, const std::string& root) {
    header.set_host_id(host_id(root));
    for (std::uint32_t cpu = 0; cpu < header.cpus(); ++cpu) {
        const std::string directory = fmt::format("{}/sys/devices/system/cpu/cpu{}", root, cpu);
        if (!fs::exists(directory)) continue;
        CpuPlace& place = *header.add_topology();
        place.set_cpu(cpu);
        describe_cpu(place, directory);
    }
}

}  // namespace fairswitch
