#include "userspace/device/filter.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> items;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        items.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return items;
}

std::uint32_t number(std::string_view text, const std::string& whole) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        fail(Exit::kUsage, "`{}` is no list of CPUs; write it like 0,2-3", whole);
    }
    return value;
}

void add_cpus(const std::string& text, ParsedFilter& result) {
    constexpr std::uint32_t kMost = FSW_FILTER_CPU_WORDS * 64;
    for (const std::string& item : split(text)) {
        const std::size_t dash = item.find('-');
        const std::uint32_t first = number(std::string_view(item).substr(0, dash), text);
        const std::uint32_t last =
            dash == std::string::npos ? first
                                      : number(std::string_view(item).substr(dash + 1), text);
        if (first > last || last >= kMost) {
            fail(Exit::kUsage, "`{}` is no range of CPUs below {}", item, kMost);
        }
        for (std::uint32_t cpu = first; cpu <= last; ++cpu) {
            result.kernel.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
            result.log.add_cpus(cpu);
        }
    }
}

// On the unified hierarchy a cgroup's id is the inode number of its directory.
void add_cgroup(const std::string& name, ParsedFilter& result) {
    const std::string path = name.starts_with('/') ? name : "/sys/fs/cgroup/" + name;
    struct statfs system {};
    struct stat directory {};
    if (::statfs(path.c_str(), &system) != 0 || ::stat(path.c_str(), &directory) != 0) {
        fail(Exit::kUsage, "no cgroup {}: {}", path, std::strerror(errno));
    }
    if (system.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(directory.st_mode)) {
        fail(Exit::kUsage, "{} is no directory of the unified cgroup hierarchy (cgroup2)", path);
    }
    result.kernel.cgroup = directory.st_ino;
    result.log.set_cgroup(name);
    result.log.set_cgroup_id(directory.st_ino);
}

void add_comm(const std::string& name, ParsedFilter& result) {
    if (name.size() >= FSW_COMM_BYTES) {
        fail(Exit::kUsage, "`{}` is no task's name: it has {} bytes, the kernel keeps {}", name,
             name.size(), FSW_COMM_BYTES - 1);
    }
    std::memcpy(result.kernel.comm, name.data(), name.size());
    result.log.set_comm(name);
}

std::string enum_name(const std::string& name) {
    std::string result = "PATH_";
    for (const char c : name) result += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return result;
}

std::string all_path_names() {
    std::string names;
    for (int path = 1; path <= Path_MAX; ++path) {
        std::string name = Path_Name(static_cast<Path>(path)).substr(5);
        for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
        names += " " + name;
    }
    return names;
}

void add_paths(const std::string& text, ParsedFilter& result) {
    for (const std::string& item : split(text)) {
        Path path = PATH_UNSPECIFIED;
        if (!Path_Parse(enum_name(item), &path) || path == PATH_UNSPECIFIED) {
            fail(Exit::kUsage, "no path `{}`; there are:{}", item, all_path_names());
        }
        result.kernel.paths |= 1u << path;
        result.log.add_paths(path);
    }
}

}  // namespace

ParsedFilter parse_filter(const FilterOptions& options) {
    ParsedFilter result;
    if (options.pid != 0) result.log.set_pid(result.kernel.pid = options.pid);
    if (options.tgid != 0) result.log.set_tgid(result.kernel.tgid = options.tgid);
    if (!options.cgroup.empty()) add_cgroup(options.cgroup, result);
    if (!options.comm.empty()) add_comm(options.comm, result);
    if (!options.cpus.empty()) add_cpus(options.cpus, result);
    if (options.sample > 1) result.log.set_sample(result.kernel.sample = options.sample);
    if (options.short_slice) {
        result.kernel.short_slice = 1;
        result.log.set_short_slice(true);
    }
    if (!options.paths.empty()) add_paths(options.paths, result);
    result.used = result.log.ByteSizeLong() > 0;
    return result;
}

}  // namespace fairswitch
