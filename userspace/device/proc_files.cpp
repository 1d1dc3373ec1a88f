#include "userspace/device/proc_files.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace fairswitch {

std::string whole_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    // An empty or unreadable file leaves `text` empty, which is what the caller is told.
    text << file.rdbuf();
    return text.str();
}

std::string first_line(const std::string& path) {
    const std::string text = whole_file(path);
    return text.substr(0, text.find('\n'));
}

std::string process_name(pid_t pid) {
    const std::string comm = first_line(fmt::format("/proc/{}/comm", pid));
    return fmt::format("pid {} ({})", pid, comm.empty() ? "gone" : comm);
}

}  // namespace fairswitch
