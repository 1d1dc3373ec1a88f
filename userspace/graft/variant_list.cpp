// The variants of a kernel, for people: Builder::list.
#include <fmt/format.h>

#include "userspace/base/failure.h"
#include "userspace/graft/builder.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace {

std::string position(bool with) { return with ? "with" : "without"; }

void print_line(const GraftVariant& variant) {
    fmt::print("{:<18}  {:<8}  {}\n", variant.id,
               variant.available() ? position(variant.stock_with) : "refused", variant.title);
    if (variant.available()) {
        fmt::print("{:30}in {}\n", "", fmt::join(variant.functions, ", "));
    } else {
        fmt::print("{:30}because {}\n", "", variant.refusal);
    }
}

void print_change(const GraftVariant& variant, const std::set<std::string>& functions) {
    fmt::print("\n{}: {} ({})\n", variant.id, variant.title, variant.form);
    fmt::print("stock is {}; the other position changes the code of: {}\n\n",
               position(variant.stock_with), join(functions));
    const auto result =
        run_process({"diff", "-u", "-p", "--label", "kernel/sched/fair.c", "--label",
                     "kernel/sched/fair.c with the gate of " + variant.id, variant.before.string(),
                     variant.after.string()});
    if (result.status != 1) {
        fail(Exit::kRunFailed, "diff of {} and {} ended with {}; expected a difference: {}",
             variant.before.string(), variant.after.string(), result.status,
             last_lines(result.output, 3));
    }
    fmt::print("{}", result.output);
}

}  // namespace

void Builder::list(bool diff) {
    facts_.kernel = locate(options_);
    report("locate", fmt::format("headers and source of {}", facts_.kernel.release));
    transform();
    if (diff) {
        compile();
        prove_stock();
    }
    fmt::print("\n{:<18}  {:<8}  of {}\n", "variant", "stock is", facts_.kernel.release);
    for (const auto& variant : facts_.transformation.variants) print_line(variant);
    if (!diff) return;
    for (const auto& variant : facts_.transformation.variants) {
        if (variant.available()) print_change(variant, facts_.flips[variant.id]);
    }
}

}  // namespace fairswitch
