// The kernel's own code, from the compressed image that it was booted from.
//
// The running kernel's text is patched while it runs (alternatives, static keys, return thunks);
// the image's is as it was linked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

class KernelImage {
  public:
    // Unpacks a bzImage (or takes an uncompressed vmlinux); `work` receives the result.
    static KernelImage read(const std::filesystem::path& path, const std::filesystem::path& work);
    // An ELF vmlinux in memory.
    static KernelImage parse(std::string file, const std::string& origin);

    // Where the linker put the first loaded byte, the symbol _text.
    uint64_t text_start() const;
    // `size` bytes at a link-time address; nothing if not in the file.
    std::optional<std::string_view> at(uint64_t address, uint64_t size) const;
    // The C string there.
    std::optional<std::string> string_at(uint64_t address) const;
    // "Linux version ...", as /proc/version prints it.
    std::string banner() const;
    std::string build_id() const;

  private:
    struct Segment {
        uint64_t address;
        uint64_t offset;
        uint64_t size;
        uint32_t type;
    };
    std::string file_;
    std::string origin_;
    std::vector<Segment> segments_;
};

// "6.12.117-1~deb12u1" of a Debian kernel's banner; empty for others.
std::string package_version(const std::string& banner);
// "6.12.117+deb12-cloud-amd64" of a banner.
std::string banner_release(const std::string& banner);
// The GNU build-id, hex, in the bytes of a note section; empty if there is none.
std::string find_build_id(std::string_view notes);

}  // namespace fairswitch
