#include "userspace/graft/kallsyms.h"

#include <algorithm>
#include <charconv>

#include "userspace/base/failure.h"
#include "userspace/graft/elf_object.h"

namespace fairswitch {
namespace {

std::optional<Kallsyms::Entry> parse_line(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find('\t') != std::string_view::npos) return std::nullopt;  // of a module
    uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const size_t used = static_cast<size_t>(end - line.data());
    if (error != std::errc() || line.size() < used + 4 || line[used] != ' ' ||
        line[used + 2] != ' ') {
        return std::nullopt;
    }
    return Kallsyms::Entry{address, line[used + 1], std::string(line.substr(used + 3))};
}

}  // namespace

Kallsyms Kallsyms::read(const std::filesystem::path& path) {
    return parse(read_file(path), path.string());
}

Kallsyms Kallsyms::parse(std::string_view text, const std::string& origin) {
    Kallsyms symbols;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        if (auto entry = parse_line(text.substr(0, end))) {
            symbols.by_name_[entry->name].push_back(entry->address);
            symbols.by_address_.emplace(entry->address, std::move(entry->name));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (symbols.by_name_.empty()) {
        fail(Exit::kImpossible,
             "{}: holds no symbols; expected lines such as 'ffffffff81000000 T _text' as in "
             "/proc/kallsyms",
             origin);
    }
    if (symbols.addresses("_text") == std::vector<uint64_t>{0}) {
        fail(Exit::kImpossible,
             "{}: addresses are zero, so the kernel hides them from this user; run as root, or set "
             "kernel.kptr_restrict to 1 or 0",
             origin);
    }
    for (auto& [name, addresses] : symbols.by_name_) std::sort(addresses.begin(), addresses.end());
    return symbols;
}

const std::vector<uint64_t>& Kallsyms::addresses(std::string_view name) const {
    static const std::vector<uint64_t> none;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? none : found->second;
}

std::optional<uint64_t> Kallsyms::unique(std::string_view name) const {
    const auto& all = addresses(name);
    if (all.size() != 1) return std::nullopt;
    return all.front();
}

std::optional<unsigned> Kallsyms::position(std::string_view name, uint64_t address) const {
    const auto& all = addresses(name);
    const auto found = std::find(all.begin(), all.end(), address);
    if (found == all.end()) return std::nullopt;
    if (all.size() == 1) return 0;
    return static_cast<unsigned>(found - all.begin()) + 1;
}

std::string Kallsyms::describe(uint64_t address) const {
    auto next = by_address_.upper_bound(address);
    if (next == by_address_.begin()) return fmt::format("{:#x}", address);
    const auto& [base, name] = *std::prev(next);
    return address == base ? name : fmt::format("{}+{:#x}", name, address - base);
}

std::vector<std::string> Kallsyms::names_at(uint64_t address) const {
    std::vector<std::string> names;
    const auto [first, last] = by_address_.equal_range(address);
    for (auto at = first; at != last; ++at) names.push_back(at->second);
    return names;
}

}  // namespace fairswitch
