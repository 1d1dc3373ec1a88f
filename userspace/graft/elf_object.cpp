#include "userspace/graft/elf_object.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

// Copies a T out of the file, with its bounds checked: objects come from outside.
template <typename T>
T take(std::string_view file, uint64_t offset, const std::string& origin) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) {
        fail(
            Exit::kRunFailed,
            "{}: ends at byte {}, but its tables point to byte {}; the file is truncated or not an "
            "ELF object",
            origin, file.size(), offset);
    }
    T value;
    std::memcpy(&value, file.data() + offset, sizeof(T));
    return value;
}

class Reader {
  public:
    Reader(std::string_view file, const std::string& origin) : file_(file), origin_(origin) {}

    Object read() {
        read_headers();
        read_sections();
        read_symbols();
        read_relocations();
        object_.index_names();
        return std::move(object_);
    }

  private:
    std::string_view body(const Elf64_Shdr& header) const {
        if (header.sh_type == SHT_NOBITS) return {};
        if (header.sh_offset > file_.size() || file_.size() - header.sh_offset < header.sh_size) {
            fail(Exit::kRunFailed, "{}: a section reaches beyond the end of the file; truncated?",
                 origin_);
        }
        return file_.substr(header.sh_offset, header.sh_size);
    }

    std::string text(std::string_view table, uint64_t offset) const {
        if (offset >= table.size()) fail(Exit::kRunFailed, "{}: bad string offset", origin_);
        const auto end = table.find('\0', offset);
        return std::string(table.substr(offset, end - offset));
    }

    void read_headers() {
        const auto header = take<Elf64_Ehdr>(file_, 0, origin_);
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
            header.e_machine != EM_X86_64) {
            fail(Exit::kRunFailed, "{}: not a 64-bit x86 ELF file", origin_);
        }
        for (size_t i = 0; i < header.e_shnum; ++i) {
            headers_.push_back(
                take<Elf64_Shdr>(file_, header.e_shoff + i * sizeof(Elf64_Shdr), origin_));
        }
        if (header.e_shstrndx >= headers_.size()) {
            fail(Exit::kRunFailed, "{}: has no section names", origin_);
        }
        names_ = body(headers_[header.e_shstrndx]);
    }

    // String, symbol and relocation tables live only in the file.
    static bool is_table(const Elf64_Shdr& header, std::string_view name) {
        return header.sh_type == SHT_NULL || header.sh_type == SHT_SYMTAB ||
               header.sh_type == SHT_RELA || header.sh_type == SHT_SYMTAB_SHNDX ||
               (header.sh_type == SHT_STRTAB && (name == ".strtab" || name == ".shstrtab"));
    }

    void read_sections() {
        model_.assign(headers_.size(), std::nullopt);
        for (size_t i = 0; i < headers_.size(); ++i) {
            const auto& header = headers_[i];
            const auto name = text(names_, header.sh_name);
            if (header.sh_type == SHT_SYMTAB) symtab_ = i;
            if (is_table(header, name)) continue;
            model_[i] = object_.sections.size();
            Section section;
            section.name = name;
            section.type = header.sh_type;
            section.flags = header.sh_flags;
            section.align = header.sh_addralign;
            section.entry_size = header.sh_entsize;
            section.size = header.sh_size;
            section.bytes = std::string(body(header));
            object_.sections.push_back(std::move(section));
        }
    }

    void read_symbols() {
        if (!symtab_) return;
        const auto& table = headers_[*symtab_];
        if (table.sh_link >= headers_.size()) fail(Exit::kRunFailed, "{}: bad symtab", origin_);
        const auto strings = body(headers_[table.sh_link]);
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            const auto raw = take<Elf64_Sym>(file_, table.sh_offset + at, origin_);
            Symbol symbol;
            symbol.name = text(strings, raw.st_name);
            symbol.bind = ELF64_ST_BIND(raw.st_info);
            symbol.type = ELF64_ST_TYPE(raw.st_info);
            symbol.visibility = ELF64_ST_VISIBILITY(raw.st_other);
            symbol.value = raw.st_value;
            symbol.size = raw.st_size;
            if (raw.st_shndx != SHN_UNDEF && raw.st_shndx < headers_.size()) {
                symbol.section = model_[raw.st_shndx];
            }
            if (!symbol.section) symbol.special = raw.st_shndx;
            object_.symbols.push_back(std::move(symbol));
        }
    }

    void read_relocations() {
        for (const auto& header : headers_) {
            if (header.sh_type != SHT_RELA || header.sh_info >= model_.size()) continue;
            if (!model_[header.sh_info]) continue;
            auto& section = object_.sections[*model_[header.sh_info]];
            auto& list = (header.sh_flags & kFlagRelaLivepatch) ? section.livepatch_relocations
                                                                : section.relocations;
            for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= header.sh_size;
                 at += sizeof(Elf64_Rela)) {
                const auto raw = take<Elf64_Rela>(file_, header.sh_offset + at, origin_);
                const auto symbol = ELF64_R_SYM(raw.r_info);
                if (symbol >= object_.symbols.size()) {
                    fail(Exit::kRunFailed, "{}: a relocation names no symbol", origin_);
                }
                list.push_back({raw.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info)),
                                raw.r_addend, symbol});
            }
        }
    }

    std::string_view file_;
    const std::string& origin_;
    std::vector<Elf64_Shdr> headers_;
    std::vector<std::optional<size_t>> model_;  // file's section index -> model's
    std::optional<size_t> symtab_;
    std::string_view names_;
    Object object_;
};

// A string table under construction; equal strings are stored once.
class Strings {
  public:
    uint32_t add(const std::string& text) {
        if (text.empty()) return 0;
        const auto [found, fresh] = offsets_.try_emplace(text, table_.size());
        if (fresh) table_.append(text).push_back('\0');
        return found->second;
    }
    const std::string& table() const { return table_; }

  private:
    std::string table_ = std::string(1, '\0');
    std::map<std::string, uint32_t> offsets_;
};

class Writer {
  public:
    explicit Writer(const Object& object) : object_(object) {}

    std::string write() {
        file_.resize(sizeof(Elf64_Ehdr));
        headers_.emplace_back();
        const size_t symtab = 1 + object_.sections.size();
        order_symbols();
        for (const auto& section : object_.sections) add_section(section);
        add_symtab();
        for (size_t i = 0; i < object_.sections.size(); ++i) add_relocations(i, symtab);
        finish();
        return std::move(file_);
    }

  private:
    // Local symbols come first in the file, as the ELF specification asks.
    void order_symbols() {
        position_.assign(object_.symbols.size(), 0);
        for (const bool local : {true, false}) {
            for (size_t i = 0; i < object_.symbols.size(); ++i) {
                const auto& symbol = object_.symbols[i];
                const bool is_null = i == 0 && symbol.name.empty() && symbol.is_undefined();
                if (is_null || (symbol.bind == STB_LOCAL) != local) continue;
                position_[i] = order_.size() + 1;
                order_.push_back(i);
            }
            if (local) first_global_ = order_.size() + 1;
        }
    }

    Elf64_Shdr& append(const std::string& name, uint32_t type, std::string_view bytes,
                       uint64_t align) {
        while (align > 1 && file_.size() % align != 0) file_.push_back('\0');
        Elf64_Shdr header{};
        header.sh_name = names_.add(name);
        header.sh_type = type;
        header.sh_offset = file_.size();
        header.sh_size = bytes.size();
        header.sh_addralign = align;
        file_.append(bytes);
        headers_.push_back(header);
        return headers_.back();
    }

    void add_section(const Section& section) {
        auto& header = append(section.name, section.type, section.bytes, section.align);
        // A link-order section would need the index of its partner; the model doesn't keep it.
        header.sh_flags = section.flags & ~static_cast<uint64_t>(SHF_LINK_ORDER | SHF_GROUP);
        header.sh_entsize = section.entry_size;
        if (section.type == SHT_NOBITS) header.sh_size = section.size;
    }

    void add_symtab() {
        std::string table(sizeof(Elf64_Sym), '\0');
        for (const size_t i : order_) {
            const auto& symbol = object_.symbols[i];
            Elf64_Sym raw{};
            raw.st_name = strings_.add(symbol.name);
            raw.st_info = ELF64_ST_INFO(symbol.bind, symbol.type);
            raw.st_other = symbol.visibility;
            raw.st_shndx =
                symbol.section ? static_cast<uint16_t>(*symbol.section + 1) : symbol.special;
            raw.st_value = symbol.value;
            raw.st_size = symbol.size;
            table.append(reinterpret_cast<const char*>(&raw), sizeof(raw));
        }
        auto& header = append(".symtab", SHT_SYMTAB, table, 8);
        header.sh_entsize = sizeof(Elf64_Sym);
        header.sh_info = static_cast<uint32_t>(first_global_);
    }

    void add_relocations(size_t section, size_t symtab) {
        const auto& model = object_.sections[section];
        add_rela(".rela" + model.name, model.relocations, SHF_INFO_LINK, section, symtab);
        add_rela(".klp.rela.vmlinux." + model.name, model.livepatch_relocations,
                 SHF_ALLOC | SHF_INFO_LINK | kFlagRelaLivepatch, section, symtab);
    }

    void add_rela(const std::string& name, const std::vector<Relocation>& list, uint64_t flags,
                  size_t section, size_t symtab) {
        if (list.empty()) return;
        std::string bytes;
        for (const auto& relocation : list) {
            Elf64_Rela raw{};
            raw.r_offset = relocation.offset;
            raw.r_info = ELF64_R_INFO(position_.at(relocation.symbol), relocation.type);
            raw.r_addend = relocation.addend;
            bytes.append(reinterpret_cast<const char*>(&raw), sizeof(raw));
        }
        auto& header = append(name, SHT_RELA, bytes, 8);
        header.sh_flags = flags;
        header.sh_entsize = sizeof(Elf64_Rela);
        header.sh_info = static_cast<uint32_t>(section + 1);
        header.sh_link = static_cast<uint32_t>(symtab);
    }

    void finish() {
        append(".strtab", SHT_STRTAB, strings_.table(), 1);
        headers_[1 + object_.sections.size()].sh_link = static_cast<uint32_t>(headers_.size() - 1);
        names_.add(".shstrtab");
        const std::string names = names_.table();
        append(".shstrtab", SHT_STRTAB, names, 1);
        while (file_.size() % 8 != 0) file_.push_back('\0');
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_REL;
        header.e_machine = EM_X86_64;
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shoff = file_.size();
        header.e_shnum = static_cast<uint16_t>(headers_.size());
        header.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
        file_.append(reinterpret_cast<const char*>(headers_.data()),
                     headers_.size() * sizeof(Elf64_Shdr));
        std::memcpy(file_.data(), &header, sizeof(header));
    }

    const Object& object_;
    std::string file_;
    std::vector<Elf64_Shdr> headers_;
    Strings names_;
    Strings strings_;
    std::vector<size_t> order_;
    std::vector<size_t> position_;  // model's symbol index -> file's
    size_t first_global_ = 1;
};

}  // namespace

Object Object::read(const std::filesystem::path& path) {
    return parse(read_file(path), path.string());
}

Object Object::parse(std::string_view file, const std::string& origin) {
    return Reader(file, origin).read();
}

std::string Object::serialize() const { return Writer(*this).write(); }

void Object::write(const std::filesystem::path& path) const { write_file(path, serialize()); }

std::optional<size_t> Object::find_symbol(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

std::optional<size_t> Object::find_section(std::string_view name) const {
    for (size_t i = 0; i < sections.size(); ++i) {
        if (sections[i].name == name) return i;
    }
    return std::nullopt;
}

size_t Object::add_symbol(Symbol symbol) {
    if (!symbol.name.empty()) by_name_.try_emplace(symbol.name, symbols.size());
    symbols.push_back(std::move(symbol));
    return symbols.size() - 1;
}

size_t Object::add_section(Section section) {
    sections.push_back(std::move(section));
    return sections.size() - 1;
}

void Object::index_names() {
    by_name_.clear();
    // Globals win: a file-local label may carry the name of a global elsewhere.
    for (const bool local : {false, true}) {
        for (size_t i = 0; i < symbols.size(); ++i) {
            const auto& symbol = symbols[i];
            if (symbol.name.empty() || symbol.type == STT_SECTION || symbol.type == STT_FILE) {
                continue;
            }
            if ((symbol.bind == STB_LOCAL) == local) by_name_.try_emplace(symbol.name, i);
        }
    }
}

bool is_pc_relative(uint32_t relocation_type) {
    return relocation_type == R_X86_64_PC32 || relocation_type == R_X86_64_PLT32 ||
           relocation_type == R_X86_64_PC64;
}

size_t field_width(uint32_t relocation_type) {
    switch (relocation_type) {
        case R_X86_64_64:
        case R_X86_64_PC64:
            return 8;
        case R_X86_64_PC32:
        case R_X86_64_PLT32:
        case R_X86_64_32:
        case R_X86_64_32S:
            return 4;
        case R_X86_64_NONE:
            return 0;
        default:
            fail(Exit::kImpossible,
                 "relocation type {} is not one that kernel code of this compiler uses; the graft "
                 "knows R_X86_64_64, PC64, PC32, PLT32, 32 and 32S",
                 relocation_type);
    }
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream content;
    if (in) content << in.rdbuf();
    if (!in || in.bad()) {
        fail(Exit::kImpossible, "{}: can't be read ({}); check the path and its permissions",
             path.string(), std::strerror(errno));
    }
    return std::move(content).str();
}

void write_file(const std::filesystem::path& path, std::string_view content) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
        fail(Exit::kRunFailed, "{}: can't be written ({}); is the disk full or the folder missing?",
             path.string(), std::strerror(errno));
    }
}

}  // namespace fairswitch
