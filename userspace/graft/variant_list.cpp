// The variants of a kernel, for people: Builder::list.
#include <fmt/format.h>

#include "userspace/base/failure.h"
#include "userspace/base/wrap.h"
#include "userspace/graft/builder.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace {

std::string position(bool with) { return with ? "with" : "without"; }

void print_line(const GraftVariant& variant) {
    constexpr size_t kIndent = 4;
    constexpr size_t kFunctionsColumn = 29;
    if (variant.available()) {
        fmt::print("{:<18} {:<9} {}\n", variant.id, position(variant.stock_with),
                   wrapped(fmt::to_string(fmt::join(variant.functions, ", ")), kFunctionsColumn));
    } else {
        fmt::print("{:<18} {:<9} -\n", variant.id, "refused");
        fmt::print("{:{}}{}\n", "", kIndent, wrapped("because " + variant.refusal, kIndent));
    }
    fmt::print("{:{}}{}\n", "", kIndent, wrapped(variant.title, kIndent));
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
    fmt::print("{}\n\n{:<18} {:<9} {}\n", facts_.kernel.release, "variant", "stock is",
               "in functions");
    for (const auto& variant : facts_.transformation.variants) print_line(variant);
    if (!diff) return;
    for (const auto& variant : facts_.transformation.variants) {
        if (variant.available()) print_change(variant, facts_.flips[variant.id]);
    }
}

}  // namespace fairswitch
