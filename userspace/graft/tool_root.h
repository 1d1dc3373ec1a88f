// Another Debian release's compiler and kbuild programs, run from a root of that release.
//
//   /usr /etc (and /bin, /lib*, /sbin)   the root's
//   everything else, /proc included      the host's, at the same paths
//
// So no path has to be translated: headers, sources and results are named alike on both sides.
// Each command gets this view in a mount namespace of its own, which ends with it: nothing is left
// mounted, whatever happens.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fairswitch {

class ToolRoot {
  public:
    ToolRoot() = default;  // the host itself
    // Checks `root` and makes the mount points in it.
    explicit ToolRoot(const std::filesystem::path& root);

    bool is_host() const { return root_.empty(); }
    // Fails if `path` would name another file inside.
    void check_visible(const std::filesystem::path& path) const;

    // Called in a forked child, hence only system calls: makes the root the child's file system.
    // Returns what failed, or nullptr.
    const char* enter() const;

  private:
    std::string root_;
    std::vector<std::pair<std::string, std::string>> shared_;  // host's folder, its place in root
    std::string user_map_;  // for /proc/self/uid_map, if the caller isn't root
    std::string group_map_;
};

}  // namespace fairswitch
