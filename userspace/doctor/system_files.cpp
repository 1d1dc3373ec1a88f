#include "userspace/doctor/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "userspace/log/descriptor.h"

namespace fairswitch {

bool SystemFiles::exists(const std::string& path) const {
    std::error_code ignored;  // a path that can't be followed has nothing to read either
    return std::filesystem::exists(at(path), ignored);
}

SystemFile SystemFiles::read(const std::string& path) const {
    SystemFile file;
    const Descriptor descriptor(::open(at(path).c_str(), O_RDONLY | O_CLOEXEC));
    file.present = descriptor || errno != ENOENT;
    if (!descriptor) {
        file.problem = std::strerror(errno);
        return file;
    }
    std::array<char, 65536> buffer;
    for (;;) {
        const ssize_t got = ::read(descriptor.get(), buffer.data(), buffer.size());
        if (got > 0) file.text.append(buffer.data(), static_cast<std::size_t>(got));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) file.problem = std::strerror(errno);
        if (got <= 0) break;
    }
    file.readable = file.problem.empty();
    return file;
}

}  // namespace fairswitch
