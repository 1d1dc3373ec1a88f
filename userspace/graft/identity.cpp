#include "userspace/graft/identity.h"

#include <cstring>
#include <optional>

#include "userspace/base/failure.h"
#include "userspace/graft/function_diff.h"

namespace fairswitch {
namespace {

constexpr std::string_view kNop2 = "\x66\x90";
constexpr std::string_view kNop5 = std::string_view("\x0f\x1f\x44\x00\x00", 5);

template <typename T>
T load(std::string_view bytes, size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

// One static key's place in the running kernel.
struct KernelJump {
    uint64_t target;
    uint64_t key;
};

class Prover {
  public:
    Prover(const Object& object, const std::string& origin, const KernelImage& image,
           const Kallsyms& kallsyms)
        : object_(object), image_(image), kallsyms_(kallsyms) {
        const auto text = kallsyms.unique("_text");
        if (!text) fail(Exit::kImpossible, "the kernel's symbols have no _text");
        slide_ = *text - image.text_start();
        for (auto& entry : read_code_tables(object, origin)) {
            const auto& table = object.sections[entry.table].name;
            if (table == "__jump_table") jumps_[entry.code_section].push_back(std::move(entry));
            if (table == "__bug_table") bugs_.push_back(std::move(entry));
        }
        read_kernel_jumps();
    }

    Identity prove() {
        for (const auto& symbol : object_.symbols) {
            if (symbol.is_function() && symbol.section && symbol.size != 0) prove_one(symbol);
        }
        return std::move(identity_);
    }

  private:
    void prove_one(const Symbol& symbol) {
        const auto& candidates = kallsyms_.addresses(symbol.name);
        if (candidates.empty()) {
            identity_.absent.insert(symbol.name);
            return;
        }
        std::string difference;
        for (const uint64_t address : candidates) {
            auto found = compare(symbol, address);
            if (found.empty()) {
                ++identity_.compared;
                identity_.identical[symbol.name] = address;
                return;
            }
            if (difference.empty()) difference = std::move(found);
        }
        if (symbol.bind == STB_WEAK) {
            identity_.overridden.insert(symbol.name);
            return;
        }
        ++identity_.compared;
        identity_.different[symbol.name] = difference;
    }

    // kallsyms' addresses include the slide of address randomisation, the image's don't.
    std::optional<std::string_view> kernel_bytes(uint64_t address, uint64_t size) const {
        return image_.at(address - slide_, size);
    }

    void read_kernel_jumps() {
        const auto start = kallsyms_.unique("__start___jump_table");
        const auto stop = kallsyms_.unique("__stop___jump_table");
        if (!start || !stop || *stop < *start) return;
        const auto table = kernel_bytes(*start, *stop - *start);
        if (!table) return;
        for (size_t at = 0; at + 16 <= table->size(); at += 16) {
            const uint64_t place = *start + at;
            const uint64_t code = place + static_cast<int64_t>(load<int32_t>(*table, at));
            const uint64_t target = place + 4 + static_cast<int64_t>(load<int32_t>(*table, at + 4));
            const uint64_t key = place + 8 + load<uint64_t>(*table, at + 8);
            kernel_jumps_[code] = {target, key & ~uint64_t{3}};
        }
    }

    // Empty if the function is the kernel's at `address`, else the first difference.
    std::string compare(const Symbol& symbol, uint64_t address) {
        const auto kernel = kernel_bytes(address, symbol.size);
        if (!kernel) return fmt::format("{:#x} is not in the image", address);
        section_ = *symbol.section;
        start_ = symbol.value;
        address_ = address;
        const auto& section = object_.sections[section_];
        expected_ = section.bytes.substr(start_, symbol.size);
        accept_objtool_edits(*kernel);
        std::vector<Relocation> relocations;
        for (const auto& relocation : section.relocations) {
            const bool inside =
                relocation.offset >= start_ && relocation.offset < start_ + symbol.size;
            if (inside && !accept_field(relocation, *kernel)) relocations.push_back(relocation);
        }
        // Machine code first: where it differs, what stands in the fields means nothing.
        if (expected_ != *kernel) {
            size_t at = 0;
            while (expected_[at] == (*kernel)[at]) ++at;
            return fmt::format("code differs at +{:#x}", at);
        }
        for (const auto& relocation : relocations) {
            auto difference = relocated(relocation, *kernel);
            if (!difference.empty()) return difference;
        }
        return static_keys(symbol);
    }

    // Takes a relocated field over from the kernel, for the comparison of all else; true if
    // nothing is left to check about it.
    bool accept_field(const Relocation& relocation, std::string_view kernel) {
        const uint64_t at = relocation.offset - start_;
        const size_t width = field_width(relocation.type);
        if (at + width > kernel.size()) {
            fail(Exit::kRunFailed, "stock fair.c: a relocation crosses the end of its function");
        }
        const auto& symbol = object_.symbols[relocation.symbol];
        if (symbol.name == "__fentry__" && at >= 1 && kernel.substr(at - 1, 5) == kNop5) {
            expected_.replace(at - 1, 5, kNop5);
            return true;
        }
        expected_.replace(at, width, kernel.substr(at, width));
        return width == 0;
    }

    // Jumps that a static key's entry announces may have become no-ops, and so may __fentry__.
    void accept_objtool_edits(std::string_view kernel) {
        for (const auto& entry : jumps_[section_]) {
            if (entry.code_offset < start_) continue;
            const uint64_t at = entry.code_offset - start_;
            if (at + 2 > expected_.size()) continue;
            const bool near = static_cast<unsigned char>(expected_[at]) == 0xe9;
            const auto nop = near ? kNop5 : kNop2;
            if (kernel.substr(at, nop.size()) == nop) expected_.replace(at, nop.size(), nop);
        }
    }

    std::string relocated(const Relocation& relocation, std::string_view kernel) {
        const uint64_t at = relocation.offset - start_;
        const size_t width = field_width(relocation.type);
        const auto& symbol = object_.symbols[relocation.symbol];
        const int64_t field = width == 8 ? load<int64_t>(kernel, at)
                                         : static_cast<int64_t>(load<int32_t>(kernel, at));
        uint64_t leads_to = static_cast<uint64_t>(field);
        if (is_pc_relative(relocation.type)) {
            leads_to += address_ + at;
        } else {
            // An absolute field holds the link-time address: moved by the boot code if randomised.
            // Per-CPU offsets are small and don't move.
            if (leads_to >= image_.text_start()) leads_to += slide_;
        }
        auto difference = reference(relocation, symbol, leads_to);
        if (difference.empty()) return {};
        return fmt::format("at +{:#x}: {}", at, difference);
    }

    // Whether a field that leads to `leads_to` (addend included) refers to `symbol`.
    std::string reference(const Relocation& relocation, const Symbol& symbol, uint64_t leads_to) {
        const uint64_t base = leads_to - static_cast<uint64_t>(relocation.addend);
        if (symbol.section) {
            const auto& section = object_.sections[*symbol.section];
            if ((section.flags & SHF_STRINGS) != 0) {
                return string_reference(relocation, symbol, section, leads_to);
            }
            if (section.is_code() && !symbol.is_function()) return label(symbol, base);
            if (section.name == "__bug_table") return bug(relocation, symbol, leads_to);
            if (is_sanitizer_data(section.name)) return sanitizer_data(symbol, section, base);
        }
        for (const uint64_t address : kallsyms_.addresses(symbol.name)) {
            if (address == base) return {};
        }
        for (const auto& name : kallsyms_.names_at(base)) {
            if (symbol.section && without_number(name) == without_number(symbol.name)) return {};
        }
        if (symbol.section && same_constant(symbol, base)) return {};
        return fmt::format("refers to {}, the kernel to {}",
                           symbol.name.empty() ? "a constant" : symbol.name,
                           kallsyms_.describe(base));
    }

    std::string string_reference(const Relocation& relocation, const Symbol& symbol,
                                 const Section& section, uint64_t leads_to) const {
        // A PC-relative field counts from the end of its instruction, four bytes further.
        const uint64_t skip = is_pc_relative(relocation.type) ? 4 : 0;
        const uint64_t offset = symbol.value + static_cast<uint64_t>(relocation.addend) + skip;
        const auto kernel = image_.string_at(leads_to + skip - slide_);
        if (offset >= section.bytes.size()) return "refers to a string outside of its section";
        const std::string ours = section.bytes.c_str() + offset;
        if (kernel && *kernel == ours) return {};
        return fmt::format("refers to \"{}\", the kernel to \"{}\"", ours, kernel.value_or("?"));
    }

    // A warning that passes its own entry of the table: the kernel's entry is about the same code.
    std::string bug(const Relocation& relocation, const Symbol& symbol, uint64_t leads_to) {
        const uint64_t skip = is_pc_relative(relocation.type) ? 4 : 0;
        const uint64_t offset = symbol.value + static_cast<uint64_t>(relocation.addend) + skip;
        for (const auto& entry : bugs_) {
            if (entry.offset != offset) continue;
            const uint64_t place = leads_to + skip;
            const auto field = kernel_bytes(place, 4);
            if (!field) break;
            const auto& first = entry.relocations.front();
            return reference(first, object_.symbols[first.symbol],
                             place + static_cast<uint64_t>(int64_t{load<int32_t>(*field, 0)}));
        }
        return fmt::format("refers to a warning, the kernel to {}", kallsyms_.describe(leads_to));
    }

    // Line, column and the like; the strings it points to name files as the build called them.
    std::string sanitizer_data(const Symbol& symbol, const Section& section, uint64_t base) const {
        auto expected = section.bytes;
        const auto kernel = kernel_bytes(base - symbol.value, expected.size());
        if (kernel) {
            for (const auto& relocation : section.relocations) {
                const size_t width = field_width(relocation.type);
                expected.replace(relocation.offset, width,
                                 kernel->substr(relocation.offset, width));
            }
            if (expected == *kernel) return {};
        }
        return fmt::format("refers to {}, the kernel to {}", section.name,
                           kallsyms_.describe(base));
    }

    // A place inside a function or its .cold part: relative to a function of that section.
    std::string label(const Symbol& symbol, uint64_t base) const {
        for (const auto& other : object_.symbols) {
            if (!other.is_function() || other.section != symbol.section) continue;
            for (const uint64_t address : kallsyms_.addresses(other.name)) {
                if (base + other.value == address + symbol.value) return {};
            }
        }
        return fmt::format("refers to {}, the kernel to {}", object_.sections[*symbol.section].name,
                           kallsyms_.describe(base));
    }

    // Unnamed read-only data is compared by content.
    bool same_constant(const Symbol& symbol, uint64_t base) const {
        const auto& section = object_.sections[*symbol.section];
        if (section.is_writable() || section.type == SHT_NOBITS || !section.relocations.empty()) {
            return false;
        }
        const bool whole = symbol.size == 0;
        const uint64_t from = whole ? 0 : symbol.value;
        const uint64_t size = whole ? section.size : symbol.size;
        const auto kernel = kernel_bytes(base - (whole ? symbol.value : 0), size);
        return size != 0 && kernel && *kernel == std::string_view(section.bytes).substr(from, size);
    }

    std::string static_keys(const Symbol& symbol) {
        for (const auto& entry : jumps_[section_]) {
            if (entry.code_offset < start_ || entry.code_offset >= start_ + symbol.size) continue;
            const uint64_t code = address_ + entry.code_offset - start_;
            const auto jump = kernel_jumps_.find(code);
            if (jump == kernel_jumps_.end()) {
                return fmt::format("at +{:#x}: a static key here, none in the kernel",
                                   entry.code_offset - start_);
            }
            auto difference = static_key(entry, jump->second);
            if (!difference.empty()) {
                return fmt::format("static key at +{:#x}: {}", entry.code_offset - start_,
                                   difference);
            }
        }
        return {};
    }

    std::string static_key(const CodeTableEntry& entry, const KernelJump& jump) {
        for (const auto& relocation : entry.relocations) {
            const auto& symbol = object_.symbols[relocation.symbol];
            auto plain = relocation;
            std::string difference;
            if (relocation.offset == 4) {
                difference = reference(plain, symbol, jump.target);
            } else if (relocation.offset == 8) {
                plain.addend &= ~int64_t{3};  // flags of the entry
                difference = reference(plain, symbol, jump.key);
            }
            if (!difference.empty()) return difference;
        }
        return {};
    }

    const Object& object_;
    const KernelImage& image_;
    const Kallsyms& kallsyms_;
    uint64_t slide_ = 0;
    std::map<size_t, std::vector<CodeTableEntry>> jumps_;  // by code section
    std::map<uint64_t, KernelJump> kernel_jumps_;          // by code address
    std::vector<CodeTableEntry> bugs_;
    Identity identity_;
    // The function under comparison.
    size_t section_ = 0;
    uint64_t start_ = 0;
    uint64_t address_ = 0;
    std::string expected_;
};

}  // namespace

Identity prove_identity(const Object& object, const std::string& origin, const KernelImage& image,
                        const Kallsyms& kallsyms) {
    return Prover(object, origin, image, kallsyms).prove();
}

void refuse_replacement(const Identity& identity, const std::string& function,
                        const std::string& kernel) {
    const auto found = identity.different.find(function);
    fail(Exit::kImpossible,
         "{}: compiled from this source it isn't the kernel's own code ({}), and it is to be "
         "replaced; install the source and compiler of exactly {}, or --force",
         function,
         found == identity.different.end() ? "the kernel has no such symbol" : found->second,
         kernel);
}

}  // namespace fairswitch
