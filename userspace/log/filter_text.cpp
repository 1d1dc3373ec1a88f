#include "userspace/log/filter_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairswitch {

std::string path_name(int path) {
    std::string name = Path_Name(static_cast<Path>(path));
    if (name.empty()) return fmt::format("path {}", path);
    name.erase(0, name.find('_') + 1);
    for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
    return name;
}

std::string list_text(std::vector<std::uint32_t> numbers) {
    std::ranges::sort(numbers);
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
        if (numbers[last] > numbers[i]) text += fmt::format("-{}", numbers[last]);
        i = last + 1;
    }
    return text;
}

std::string filter_text(const Filter& filter) {
    std::vector<std::string> parts;
    if (filter.has_pid()) parts.push_back(fmt::format("pid {}", filter.pid()));
    if (filter.has_tgid()) parts.push_back(fmt::format("process {}", filter.tgid()));
    if (filter.has_cgroup()) parts.push_back("cgroup " + filter.cgroup());
    if (filter.has_comm()) parts.push_back("name " + filter.comm());
    if (filter.cpus_size() > 0)
        parts.push_back("CPUs " + list_text({filter.cpus().begin(), filter.cpus().end()}));
    if (filter.short_slice()) parts.push_back("short-slice wakees");
    if (filter.paths_size() > 0) {
        std::string paths;
        for (const int path : filter.paths()) paths += (paths.empty() ? "" : ",") + path_name(path);
        parts.push_back("paths " + paths);
    }
    if (filter.has_sample()) parts.push_back(fmt::format("1 in {}", filter.sample()));
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace fairswitch
