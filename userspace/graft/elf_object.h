// A relocatable ELF object in memory: sections with their relocations, and symbols.
//
// The graft takes a compiler's object apart and puts a smaller one together, and later rewrites the
// relocations of a linked module. Both are easiest on a model in which a relocation names a symbol
// and a symbol names a section, and in which the tables of the file (section names, string tables,
// RELA sections) exist only while reading and writing.
#pragma once

#include <elf.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

// Section index and flag of the kernel's livepatch ABI (include/uapi/linux/livepatch.h has no copy
// for user space; Documentation/livepatch/module-elf-format.rst).
inline constexpr uint16_t kSectionLivepatch = 0xff20;
inline constexpr uint64_t kFlagRelaLivepatch = 0x00100000;

struct Relocation {
    uint64_t offset = 0;
    uint32_t type = 0;
    int64_t addend = 0;
    size_t symbol = 0;  // index in Object::symbols
};

struct Section {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    uint64_t flags = 0;
    uint64_t align = 1;
    uint64_t entry_size = 0;
    uint64_t size = 0;  // equals bytes.size(), except for NOBITS
    std::string bytes;
    std::vector<Relocation> relocations;
    // Relocations that the livepatch core applies: written as .klp.rela.vmlinux.NAME.
    std::vector<Relocation> livepatch_relocations;

    bool is_code() const { return (flags & SHF_EXECINSTR) != 0; }
    bool is_writable() const { return (flags & SHF_WRITE) != 0; }
    bool is_loaded() const { return (flags & SHF_ALLOC) != 0; }
};

struct Symbol {
    std::string name;
    uint8_t bind = STB_LOCAL;
    uint8_t type = STT_NOTYPE;
    uint8_t visibility = STV_DEFAULT;
    uint16_t special = 0;  // SHN_UNDEF, SHN_ABS, kSectionLivepatch, ... when it has no section
    std::optional<size_t> section;
    uint64_t value = 0;
    uint64_t size = 0;

    bool is_undefined() const { return !section && special == SHN_UNDEF; }
    bool is_function() const { return type == STT_FUNC; }
};

class Object {
  public:
    static Object read(const std::filesystem::path& path);
    // `origin` names the object in messages.
    static Object parse(std::string_view file, const std::string& origin);

    void write(const std::filesystem::path& path) const;
    std::string serialize() const;

    // The defined or undefined symbol of that name; sections and unnamed symbols aside.
    std::optional<size_t> find_symbol(std::string_view name) const;
    std::optional<size_t> find_section(std::string_view name) const;
    size_t add_symbol(Symbol symbol);
    size_t add_section(Section section);
    // Must follow a change of names made from outside.
    void index_names();

    std::vector<Section> sections;
    std::vector<Symbol> symbols;

  private:
    std::map<std::string, size_t, std::less<>> by_name_;
};

// Offset in a section that a relocation refers to, for absolute and 64-bit kinds exact; PC-relative
// 32-bit fields of instructions have the distance to the end of the instruction in their addend.
bool is_pc_relative(uint32_t relocation_type);
// Width of the patched field in bytes.
size_t field_width(uint32_t relocation_type);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace fairswitch
