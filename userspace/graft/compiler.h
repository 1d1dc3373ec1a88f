// Compiles fair.c as the kernel build would, but out of tree.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/elf_object.h"
#include "userspace/graft/tool_root.h"

namespace fairswitch {

// The kernel's own compiler command for a built-in object, learned from kbuild.
class Compiler {
  public:
    // `kdir`: prepared headers. `source`: tree with kernel/sched. `work`: scratch folder.
    // `program`: the compiler that built the kernel. `root`: where it and make are; it outlives
    // this.
    Compiler(std::filesystem::path kdir, std::filesystem::path source, std::filesystem::path work,
             const std::string& program, const ToolRoot& root);

    struct Job {
        std::filesystem::path input;   // a fair.c
        std::filesystem::path output;  // its object
        std::vector<std::filesystem::path> includes;
        std::vector<std::string> flags;
        // Of the kernel's own fair.c: also assembled as the kernel's build lays it out, all
        // functions in one section.
        std::filesystem::path laid_out{};
    };

    // Compiles up to two jobs at a time. Every function and variable gets a section of its own,
    // and every file-local symbol is made global in between, so that relocations name the symbol
    // that they mean: the assembler would rewrite them as section + offset, which can't be undone
    // where variables share a section.
    void compile(const std::vector<Job>& jobs) const;

    // Names that were file-local in the C source of the compiled object.
    static std::set<std::string> local_names(const std::filesystem::path& object);

    const std::string& command() const { return command_; }

  private:
    void learn_command(const std::string& program);
    void learn_header_prefix();
    void compile_one(const Job& job) const;
    void assemble(const std::string& text, const std::filesystem::path& output) const;

    std::filesystem::path kdir_;
    std::filesystem::path source_;
    std::filesystem::path work_;
    const ToolRoot& root_;
    std::string command_;  // all flags; without input, output and dependency file
    std::string header_prefix_;
};

// Adds .globl to each file-local object and function of an assembler source; returns their names.
std::set<std::string> promote_local_symbols(std::string& assembly);
// The same assembler source without -ffunction-sections. Code inside a function can be aligned more
// strictly than its start, so its padding depends on where in the file the function stands.
std::string with_common_sections(const std::string& assembly);

}  // namespace fairswitch
