#include "userspace/graft/tool_root.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

// What a program finds its libraries, helpers and settings in.
constexpr std::array<std::string_view, 8> kSystemFolders = {"usr", "etc",   "bin",   "sbin",
                                                            "lib", "lib32", "lib64", "libx32"};

bool is_system_folder(const std::string& name) {
    for (const auto system : kSystemFolders) {
        if (name == system) return true;
    }
    return false;
}

bool write_line(const char* file, const std::string& line) {
    const int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool written = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    return close(fd) == 0 && written;
}

}  // namespace

ToolRoot::ToolRoot(const fs::path& root) : root_(fs::absolute(root).string()) {
    if (!fs::exists(fs::path(root_) / "usr/bin/make")) {
        fail(Exit::kImpossible,
             "{}: has no usr/bin/make; expected the root folder of a Debian release with make and "
             "the kernel's compiler (mmdebstrap makes one)",
             root_);
    }
    for (const auto& entry : fs::directory_iterator("/")) {
        const auto name = entry.path().filename().string();
        if (is_system_folder(name) || entry.is_symlink() || !entry.is_directory()) continue;
        fs::create_directories(fs::path(root_) / name);
        shared_.emplace_back(entry.path().string(), (fs::path(root_) / name).string());
    }
    if (geteuid() != 0) {
        user_map_ = fmt::format("0 {} 1", geteuid());
        group_map_ = fmt::format("0 {} 1", getegid());
    }
}

void ToolRoot::check_visible(const fs::path& path) const {
    if (is_host()) return;
    const auto relative = fs::weakly_canonical(path).relative_path();
    if (relative.empty() || !is_system_folder(relative.begin()->string())) return;
    fail(Exit::kUsage,
         "{}: with --root, /usr and /etc are those of {}; put the file elsewhere, such as below "
         "your home",
         path.string(), root_);
}

const char* ToolRoot::enter() const {
    if (is_host()) return nullptr;
    const int user = user_map_.empty() ? 0 : CLONE_NEWUSER;
    if (unshare(CLONE_NEWNS | user) != 0) return "unshare";
    if (user != 0) {
        if (!write_line("/proc/self/setgroups", "deny")) return "setgroups";
        if (!write_line("/proc/self/uid_map", user_map_)) return "uid_map";
        if (!write_line("/proc/self/gid_map", group_map_)) return "gid_map";
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return "mount --make-private";
    for (const auto& [host, inside] : shared_) {
        if (mount(host.c_str(), inside.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
            return host.c_str();
        }
    }
    if (chroot(root_.c_str()) != 0 || chdir("/") != 0) return "chroot";
    return nullptr;
}

}  // namespace fairswitch
