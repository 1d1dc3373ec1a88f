// The whole of `fairswitch build`: fair.c of a kernel in, fairswitch.ko out.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/compiler.h"
#include "userspace/graft/extract.h"
#include "userspace/graft/kallsyms.h"
#include "userspace/graft/klp_link.h"
#include "userspace/graft/locate.h"
#include "userspace/graft/variants.h"

namespace fairswitch {

class Builder {
  public:
    explicit Builder(BuildOptions options);

    // Runs all steps, printing one line for each. The module is OUT/fairswitch.ko.
    void run();

  private:
    void locate_inputs();
    void transform();
    void compile();
    void measure_patch_set();
    void extract_graft();
    void build_module();
    void link_module();

    // Prints "[ 12.3 s] step: text".
    void report(const std::string& step, const std::string& text) const;
    std::filesystem::path out(const char* name) const { return options_.out / name; }

    BuildOptions options_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    Kernel kernel_;
    Kallsyms kallsyms_;
    Transformation transformation_;
    Object stock_;
    Object gated_;
    std::set<std::string> patch_set_;
    std::set<std::string> moved_;
    Extract extract_;
    std::vector<BoundSymbol> bound_;
};

}  // namespace fairswitch
