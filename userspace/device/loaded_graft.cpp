#include "userspace/device/loaded_graft.h"

#include <filesystem>
#include <system_error>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/run/fairswitch";
constexpr const char* kName = "graft.textproto";

fs::path kept() { return fs::path(kFolder) / kName; }

}  // namespace

void keep_graft(const std::string& module_path) {
    std::error_code error;
    forget_graft();
    const fs::path manifest = fs::path(module_path).parent_path() / kName;
    if (!fs::exists(manifest, error)) return;
    fs::create_directories(kFolder, error);
    fs::copy_file(manifest, kept(), error);
    if (error) {
        // The module is loaded and works; its logs just won't say how it was made.
        fmt::print(stderr, "can't keep {} in {}: {}; give it to `record` with --graft\n",
                   manifest.string(), kFolder, error.message());
    }
}

void forget_graft() {
    std::error_code error;
    fs::remove(kept(), error);
}

std::string graft_manifest(const std::string& named) {
    if (named.empty()) return whole_file(kept().string());
    std::string text = whole_file(named);
    if (text.empty()) {
        fail(Exit::kUsage,
             "--graft {}: empty or not readable; expected the manifest that `fairswitch build` "
             "writes",
             named);
    }
    return text;
}

}  // namespace fairswitch
