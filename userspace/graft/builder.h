// The whole of `fairswitch build`: fair.c of a kernel in, fairswitch.ko out.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/compiler.h"
#include "userspace/graft/facts.h"
#include "userspace/graft/image.h"
#include "userspace/graft/kallsyms.h"
#include "userspace/graft/locate.h"

namespace fairswitch {

class Builder {
  public:
    // A line for each step goes to `progress`.
    explicit Builder(BuildOptions options, std::FILE* progress = stdout);

    // Runs all steps. Leaves OUT/fairswitch.ko and OUT/graft.textproto.
    void run();

    // Stops after comparing the source with the kernel: what a build would find, without judging
    // it. Holds until the Builder goes.
    const BuildFacts& examine();

    // Prints what each variant is on this kernel; with `diff` also its change of the source, and
    // the functions whose compiled code differs between its positions. Needs no image.
    void list(bool diff);

  private:
    void locate_inputs();
    void check_image();
    void transform();
    void compile();
    // Stock and gated fair.c.
    std::vector<Compiler::Job> main_jobs() const;
    void compile(const std::vector<Compiler::Job>& jobs);
    std::vector<Compiler::Job> fold_jobs() const;
    void measure_patch_set();
    void compare_source();
    void prove_source();
    void prove_stock();
    void extract_graft();
    void write_patch_set_header();
    void build_module();
    void link_module();
    void verify_module();
    void finish();

    // Whether the kernel has a function of fair.c out of line, to be called under that name.
    bool kernel_has(const std::string& function) const;
    // The most exact name of the kernel that is known: the package version, else the release.
    const std::string& kernel_name() const;
    std::vector<std::filesystem::path> includes() const;
    // Prints "[ 12.3 s] step: text".
    void report(const std::string& step, const std::string& text) const;
    std::chrono::duration<double> elapsed() const;
    std::filesystem::path out(const std::string& name) const { return options_.out / name; }

    BuildOptions options_;
    std::FILE* progress_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::optional<KernelImage> image_;
    Kallsyms kallsyms_;
    std::set<std::string> exported_;
    BuildFacts facts_;
};

// A list for a line of output.
std::string join(const std::set<std::string>& names);

}  // namespace fairswitch
