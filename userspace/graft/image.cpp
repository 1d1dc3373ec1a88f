#include "userspace/graft/image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "userspace/base/failure.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

// Offsets in the x86 boot protocol's setup header (Documentation/arch/x86/boot.rst).
constexpr size_t kSetupSectors = 0x1f1;
constexpr size_t kHeaderMagic = 0x202;
constexpr size_t kPayloadOffset = 0x248;
constexpr size_t kPayloadLength = 0x24c;
constexpr size_t kSectorBytes = 512;

constexpr std::string_view kGzip = "\x1f\x8b\x08";

struct Packer {
    std::string_view magic;
    const char* program;
    const char* package;
};

constexpr std::array kPackers = {
    Packer{"\x28\xb5\x2f\xfd", "zstd", "zstd"},
    Packer{"\xfd"
           "7zXZ",
           "xz", "xz-utils"},
    Packer{kGzip, "gzip", "gzip"},
    Packer{"BZh", "bzip2", "bzip2"},
    Packer{"\x02\x21\x4c\x18", "lz4", "lz4"},
    Packer{"\x5d", "lzma", "xz-utils"},
};

template <typename T>
T load(std::string_view bytes, size_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::string_view payload_of(std::string_view file, const std::string& origin) {
    if (file.substr(std::min(kHeaderMagic, file.size()), 4) != "HdrS") {
        fail(Exit::kImpossible, "{}: neither an x86 kernel image (bzImage) nor an ELF vmlinux",
             origin);
    }
    const size_t sectors = std::max<size_t>(load<uint8_t>(file, kSetupSectors), 1);
    const size_t start = (sectors + 1) * kSectorBytes + load<uint32_t>(file, kPayloadOffset);
    const size_t length = load<uint32_t>(file, kPayloadLength);
    if (length < 4 || start > file.size() || file.size() - start < length) {
        fail(Exit::kImpossible, "{}: its compressed kernel lies outside of the file; truncated?",
             origin);
    }
    // The last four bytes are the unpacked size: gzip's own, or appended by the kernel's build.
    const bool own = file.substr(start, kGzip.size()) == kGzip;
    return file.substr(start, own ? length : length - 4);
}

std::string unpack(std::string_view payload, const fs::path& work, const std::string& origin) {
    const auto packer = std::find_if(kPackers.begin(), kPackers.end(), [&](const Packer& one) {
        return payload.substr(0, one.magic.size()) == one.magic;
    });
    if (packer == kPackers.end()) {
        fail(Exit::kImpossible,
             "{}: packed in a way that is not known here; known are zstd, xz, gzip, bzip2, lz4 and "
             "lzma",
             origin);
    }
    const auto packed = work / "vmlinux.packed";
    const auto plain = work / "vmlinux";
    write_file(packed, payload);
    const auto result =
        run_process({packer->program, "-d", "-c"}, {.stdin_file = packed, .stdout_file = plain});
    fs::remove(packed);
    if (result.status != 0) {
        fail(Exit::kImpossible, "{}: {} can't unpack it (package {}): {}", origin, packer->program,
             packer->package, last_lines(result.output, 3));
    }
    return read_file(plain);
}

}  // namespace

KernelImage KernelImage::read(const fs::path& path, const fs::path& work) {
    auto file = read_file(path);
    if (file.compare(0, SELFMAG, ELFMAG) == 0) return parse(std::move(file), path.string());
    fs::create_directories(work);
    return parse(unpack(payload_of(file, path.string()), work, path.string()), path.string());
}

KernelImage KernelImage::parse(std::string file, const std::string& origin) {
    KernelImage image;
    image.origin_ = origin;
    const auto header = load<Elf64_Ehdr>(file, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64) {
        fail(Exit::kImpossible, "{}: holds no x86-64 ELF kernel", origin);
    }
    for (size_t i = 0; i < header.e_phnum; ++i) {
        const auto segment = load<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
        const bool inside =
            segment.p_offset <= file.size() && file.size() - segment.p_offset >= segment.p_filesz;
        if (!inside) fail(Exit::kImpossible, "{}: truncated", origin);
        image.segments_.push_back(
            {segment.p_vaddr, segment.p_offset, segment.p_filesz, segment.p_type});
    }
    image.file_ = std::move(file);
    return image;
}

uint64_t KernelImage::text_start() const {
    for (const auto& segment : segments_) {
        if (segment.type == PT_LOAD) return segment.address;
    }
    fail(Exit::kImpossible, "{}: has nothing to load", origin_);
}

std::optional<std::string_view> KernelImage::at(uint64_t address, uint64_t size) const {
    for (const auto& segment : segments_) {
        if (segment.type != PT_LOAD || address < segment.address) continue;
        const uint64_t offset = address - segment.address;
        if (offset > segment.size || segment.size - offset < size) continue;
        return std::string_view(file_).substr(segment.offset + offset, size);
    }
    return std::nullopt;
}

std::optional<std::string> KernelImage::string_at(uint64_t address) const {
    if (!at(address, 1)) return std::nullopt;
    for (const auto& segment : segments_) {
        if (segment.type != PT_LOAD || address < segment.address ||
            address - segment.address >= segment.size) {
            continue;
        }
        const auto start = segment.offset + address - segment.address;
        const auto end = file_.find('\0', start);
        if (end == std::string::npos || end >= segment.offset + segment.size) return std::nullopt;
        return file_.substr(start, end - start);
    }
    return std::nullopt;
}

std::string KernelImage::banner() const {
    // The format string "Linux version %s" precedes or follows; the banner names a number.
    const std::string start = "Linux version ";
    for (size_t at = file_.find(start); at != std::string::npos; at = file_.find(start, at + 1)) {
        const size_t after = at + start.size();
        if (after >= file_.size() || file_[after] < '0' || file_[after] > '9') continue;
        const auto end = file_.find_first_of(std::string("\n\0", 2), at);
        return file_.substr(at, end - at);
    }
    fail(Exit::kImpossible, "{}: has no version banner", origin_);
}

std::string KernelImage::build_id() const {
    for (const auto& segment : segments_) {
        if (segment.type != PT_NOTE) continue;
        auto id = find_build_id(std::string_view(file_).substr(segment.offset, segment.size));
        if (!id.empty()) return id;
    }
    return {};
}

std::string package_version(const std::string& banner) {
    // "... SMP PREEMPT_DYNAMIC Debian 6.12.117-1~deb12u1 (2026-11-14)"
    const std::string mark = " Debian ";
    const auto at = banner.rfind(mark);
    if (at == std::string::npos) return {};
    const auto start = at + mark.size();
    return banner.substr(start, banner.find(' ', start) - start);
}

std::string banner_release(const std::string& banner) {
    const std::string start = "Linux version ";
    const auto at = banner.find(start);
    if (at == std::string::npos) return {};
    const auto from = at + start.size();
    return banner.substr(from, banner.find(' ', from) - from);
}

std::string find_build_id(std::string_view notes) {
    const auto align = [](size_t size) { return (size + 3) & ~size_t{3}; };
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        const auto note = load<Elf64_Nhdr>(notes, at);
        const size_t name = at + sizeof(note);
        const size_t text = name + align(note.n_namesz);
        if (text + note.n_descsz > notes.size()) break;
        if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, 4) == std::string_view("GNU", 4)) {
            std::string id;
            for (const unsigned char byte : notes.substr(text, note.n_descsz)) {
                id += fmt::format("{:02x}", byte);
            }
            return id;
        }
        at = text + align(note.n_descsz);
    }
    return {};
}

}  // namespace fairswitch
