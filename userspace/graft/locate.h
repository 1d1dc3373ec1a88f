// Finds what a graft is made from, and refuses early if the pieces don't belong together.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "userspace/graft/tool_root.h"

namespace fairswitch {

struct BuildOptions {
    std::filesystem::path kdir;      // prepared headers
    std::filesystem::path source;    // kernel tree or linux-source tarball
    std::filesystem::path image;     // vmlinuz
    std::filesystem::path kallsyms;  // /proc/kallsyms or a copy
    std::filesystem::path module;    // our module's sources
    std::filesystem::path out;
    std::filesystem::path root;         // of the release whose compiler built the kernel
    std::vector<std::string> variants;  // empty: all that apply
    bool force = false;
    bool running_kernel = false;  // image and symbols are those of the running kernel

    ToolRoot tools;               // made of `root` by complete()

    // Fills what wasn't given with the running kernel's places.
    void complete();
};

struct Kernel {
    std::string release;           // 6.12.117+deb12-cloud-amd64
    std::string package_version;   // 6.12.117-1~deb12u1; empty if the banner has none
    std::string banner;            // "Linux version ..."
    std::string build_id;          // hex
    std::string compiler;          // CONFIG_CC_VERSION_TEXT
    std::filesystem::path source;  // unpacked tree
    std::map<std::string, std::string> config;
};

// Checks headers, configuration, compiler and source.
Kernel locate(const BuildOptions& options);

// CONFIG_NAME -> value without quotes.
std::map<std::string, std::string> parse_config(const std::string& text);
// "6.12.117" from the top Makefile of a kernel tree.
std::string source_version(const std::filesystem::path& tree);

}  // namespace fairswitch
