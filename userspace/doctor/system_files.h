// Small files of /proc, /sys and the like, below a root that tests replace. Unlike elsewhere it
// matters why a file can't be read: what isn't there and what is hidden mean different things.
#pragma once

#include <filesystem>
#include <string>

namespace fairswitch {

struct SystemFile {
    bool present = false;
    bool readable = false;
    std::string text;
    std::string problem;  // why it isn't readable: "Permission denied"

    std::string first_line() const { return text.substr(0, text.find('\n')); }
};

class SystemFiles {
  public:
    explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // `path` is absolute, as on a machine.
    std::filesystem::path at(const std::string& path) const { return root_ / path.substr(1); }
    bool exists(const std::string& path) const;
    SystemFile read(const std::string& path) const;
    std::string first_line(const std::string& path) const { return read(path).first_line(); }
    const std::filesystem::path& root() const { return root_; }

  private:
    std::filesystem::path root_;
};

}  // namespace fairswitch
