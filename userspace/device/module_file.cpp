#include "userspace/device/module_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "userspace/base/failure.h"
#include "userspace/device/proc_files.h"
#include "userspace/log/descriptor.h"

namespace fairswitch {
namespace {

constexpr std::string_view kSignatureMark = "~Module signature appended~\n";

struct ElfEnd {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPointer = std::unique_ptr<Elf, ElfEnd>;

// "key=value\0key=value\0", with more NULs between them at will.
void read_modinfo(std::string_view text, ModuleFile& module) {
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find('\0'));
        const std::size_t equals = entry.find('=');
        if (equals != std::string_view::npos) {
            module.info.emplace(entry.substr(0, equals), entry.substr(equals + 1));
        }
        text.remove_prefix(std::min(entry.size() + 1, text.size()));
    }
}

void read_symbols(Elf* elf, const GElf_Shdr& header, Elf_Data* data, ModuleFile& module) {
    if (header.sh_entsize == 0) return;
    const int count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, i, &symbol) == nullptr) continue;
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
        if (const char* name = elf_strptr(elf, header.sh_link, symbol.st_name)) {
            module.functions.insert(name);
        }
    }
}

void read_sections(Elf* elf, ModuleFile& module) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) continue;
        const char* name = elf_strptr(elf, names, header.sh_name);
        Elf_Data* data = elf_getdata(section, nullptr);
        if (name == nullptr || data == nullptr || data->d_buf == nullptr) continue;
        if (std::strcmp(name, ".modinfo") == 0) {
            read_modinfo({static_cast<const char*>(data->d_buf), data->d_size}, module);
        } else if (header.sh_type == SHT_SYMTAB) {
            read_symbols(elf, header, data, module);
        }
    }
}

}  // namespace

std::string ModuleFile::value(const std::string& key) const {
    const auto found = info.find(key);
    return found == info.end() ? std::string() : found->second;
}

std::string ModuleFile::release() const {
    const std::string vermagic = value("vermagic");
    return vermagic.substr(0, vermagic.find(' '));
}

ModuleFile read_module_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        fail(Exit::kUsage,
             "can't open the module {}: {}; expected fairswitch.ko as made by `fairswitch build`",
             path, std::strerror(errno));
    }
    ModuleFile module;
    module.path = path;
    elf_version(EV_CURRENT);
    const ElfPointer elf(elf_begin(file.get(), ELF_C_READ, nullptr));
    if (elf && elf_kind(elf.get()) == ELF_K_ELF) read_sections(elf.get(), module);
    if (module.info.empty()) {
        fail(Exit::kUsage,
             "{} is no kernel module (no ELF file with a .modinfo section); expected fairswitch.ko "
             "as made by `fairswitch build`",
             path);
    }
    module.is_signed = whole_file(path).ends_with(kSignatureMark);
    return module;
}

}  // namespace fairswitch
