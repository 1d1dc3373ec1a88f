// The kernel's symbols, from /proc/kallsyms or a copy of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

class Kallsyms {
  public:
    struct Entry {
        uint64_t address;
        char type;
        std::string name;
    };

    static Kallsyms read(const std::filesystem::path& path);
    // Symbols of modules are left out. `origin` names the source in messages.
    static Kallsyms parse(std::string_view text, const std::string& origin);

    // Addresses of that name in ascending order; empty if unknown.
    const std::vector<uint64_t>& addresses(std::string_view name) const;
    bool has(std::string_view name) const { return !addresses(name).empty(); }
    // The one address of a name; nothing if unknown or ambiguous.
    std::optional<uint64_t> unique(std::string_view name) const;
    // The livepatch position of `name` at `address`: 0 if the name is unique, else from 1 in
    // address order. Nothing if the name isn't there.
    std::optional<unsigned> position(std::string_view name, uint64_t address) const;
    // The nearest named symbol at or below, as name+0xoffset, for messages.
    std::string describe(uint64_t address) const;
    // Names at exactly this address.
    std::vector<std::string> names_at(uint64_t address) const;

  private:
    std::map<std::string, std::vector<uint64_t>, std::less<>> by_name_;
    std::multimap<uint64_t, std::string> by_address_;
};

}  // namespace fairswitch
