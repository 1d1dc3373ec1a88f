#include <fmt/format.h>

#include "userspace/doctor/checks.h"

namespace fairswitch {
namespace {

std::string differences_of(const Graft& graft, bool patched) {
    std::string text;
    for (const auto& difference : graft.identity().differences()) {
        bool replaced = false;
        for (const auto& function : graft.patch_set()) {
            replaced = replaced || function.name() == difference.function();
        }
        if (replaced != patched) continue;
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", difference.function(),
                            difference.reason());
    }
    return text;
}

Finding check_identity(const Graft& graft) {
    const auto& identity = graft.identity();
    const auto figures = fmt::format("{} of {} functions of fair.c compile to the kernel's code",
                                     identity.identical(), identity.compared());
    const auto needed = differences_of(graft, true);
    if (!needed.empty()) {
        return no(Hinders::kBuild, "identity",
                  fmt::format("{}; to be replaced, but other code: {}", figures, needed),
                  "install source and compiler of exactly this kernel's package version");
    }
    if (identity.identical() == 0) {
        return no(Hinders::kBuild, "identity", figures,
                  "is it this kernel's source, image and symbols?");
    }
    const auto others = differences_of(graft, false);
    if (!others.empty()) {
        return warn("identity",
                    fmt::format("{}; other code, but not replaced: {}", figures, others), "");
    }
    return ok("identity",
              fmt::format("{}, all {} to be replaced among them", figures, graft.patch_set_size()));
}

Finding check_variant(const Graft::Variant& variant) {
    if (!variant.refusal().empty()) {
        return no(Hinders::kNothing, variant.id(), "not on this kernel: " + variant.refusal(), "");
    }
    return ok(variant.id(),
              fmt::format("stock is {}; switched in {}",
                          variant.stock() == Graft::POSITION_WITH ? "with" : "without",
                          fmt::join(variant.functions(), ", ")));
}

}  // namespace

Findings check_fair(const Subject& subject) {
    if (!subject.examination_problem.empty()) {
        return {no(Hinders::kBuild, "fair.c", subject.examination_problem,
                   "the variants are unknown until this works")};
    }
    if (!subject.graft) return {};
    Findings findings = {check_identity(*subject.graft)};
    for (const auto& variant : subject.graft->variants()) {
        findings.push_back(check_variant(variant));
    }
    return findings;
}

}  // namespace fairswitch
