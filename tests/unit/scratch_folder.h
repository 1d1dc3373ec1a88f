// A folder that goes away with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "userspace/base/failure.h"

namespace fairswitch::testing {

class ScratchFolder {
  public:
    ScratchFolder() {
        auto name = (std::filesystem::temp_directory_path() / "fairswitch-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) fail(Exit::kRunFailed, "mkdtemp {}", name);
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

    // Writes a file, with its folders.
    std::filesystem::path put(const std::string& name, const std::string& content) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream file(path_ / name, std::ios::binary);
        if (!(file << content << std::flush)) fail(Exit::kRunFailed, "can't write {}", name);
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace fairswitch::testing
