// A kernel module as a file: what it says of itself, before the kernel is asked to load it.
#pragma once

#include <map>
#include <set>
#include <string>

namespace fairswitch {

struct ModuleFile {
    std::string path;
    std::map<std::string, std::string> info;  // .modinfo; the first value of a key counts
    std::set<std::string> functions;          // defined in it, by symbol
    bool is_signed = false;

    // Empty if there is no such key.
    std::string value(const std::string& key) const;
    // The kernel release that it was built for: the first word of vermagic.
    std::string release() const;
};

// Throws Failure when the file can't be read or isn't a kernel module.
ModuleFile read_module_file(const std::string& path);

}  // namespace fairswitch
