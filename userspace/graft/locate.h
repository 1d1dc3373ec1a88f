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

    ToolRoot tools;  // made of `root` by complete()

    // Fills what wasn't given with the running kernel's places, and fails if there are no headers.
    void complete();
    // The same without judging what is there. `system` is the root of the file system to look in.
    void fill(const std::filesystem::path& system = "/");
};

struct Kernel {
    std::string release;           // 6.12.117+deb12-cloud-amd64
    std::string package_version;   // 6.12.117-1~deb12u1; empty if the banner has none
    std::string banner;            // "Linux version ..."
    std::string build_id;          // hex
    std::string compiler;          // CONFIG_CC_VERSION_TEXT
    std::string compiler_program;  // what that compiler is called here
    std::filesystem::path source;  // unpacked tree
    std::map<std::string, std::string> config;
};

// Checks headers, configuration, compiler and source.
Kernel locate(const BuildOptions& options);

// A setting that a kernel must have been built with, and what for.
struct NeededSetting {
    const char* name;
    const char* purpose;
};
const std::vector<NeededSetting>& needed_settings();

// The compiler of CONFIG_CC_VERSION_TEXT, as it was looked for.
struct CompilerSearch {
    std::string package;  // Debian's name of it
    std::string program;  // what the very compiler is called here; empty if it isn't here
    std::string found;    // the version line of the nearest one
};
CompilerSearch find_compiler(const std::string& wanted, const ToolRoot& tools);

// The release of prepared headers or of a built tree; empty if `kdir` is neither.
std::string release_of_headers(const std::filesystem::path& kdir);
// "6.12" of "6.12.117+deb12-cloud-amd64": how Debian names its source package.
std::string series_of(const std::string& release);
// Whether Linux `version`, as a source's Makefile has it, is what `release` was built from.
bool same_version(const std::string& version, const std::string& release);

// CONFIG_NAME -> value without quotes.
std::map<std::string, std::string> parse_config(const std::string& text);
// "6.12.117" from the top Makefile of a kernel tree; empty if that names no version.
std::string version_of_tree(const std::filesystem::path& tree);
// The same; fails if there is none.
std::string source_version(const std::filesystem::path& tree);

}  // namespace fairswitch
