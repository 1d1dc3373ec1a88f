// A folder for intermediate steps that goes when a listing is done.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "userspace/base/failure.h"

namespace fairswitch {

class ScratchFolder {
  public:
    ScratchFolder() {
        auto name = (std::filesystem::temp_directory_path() / "fairswitch.XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            fail(Exit::kRunFailed, "{}: can't make a scratch folder ({}); set TMPDIR", name,
                 std::strerror(errno));
        }
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code ignored;  // a folder left behind in /tmp harms nobody
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace fairswitch
