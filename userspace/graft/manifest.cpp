#include "userspace/graft/manifest.h"

#include <google/protobuf/text_format.h>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

void add_kernel(const Kernel& kernel, Graft& graft) {
    auto& message = *graft.mutable_kernel();
    message.set_release(kernel.release);
    message.set_package_version(kernel.package_version);
    message.set_build_id(kernel.build_id);
    message.set_compiler(kernel.compiler);
    message.set_banner(kernel.banner);
}

void add_patch_set(const BuildFacts& facts, Graft& graft) {
    for (const auto& name : facts.patch_set) {
        auto& message = *graft.add_patch_set();
        message.set_name(name);
        message.set_stock_bytes(code_bytes(facts.stock, name));
        message.set_gated_bytes(code_bytes(facts.gated, name));
        const auto position = facts.positions.find(name);
        if (position != facts.positions.end()) message.set_position(position->second);
        message.set_identical(facts.identity.identical.count(name) != 0);
    }
}

void add_variant(const BuildFacts& facts, const GraftVariant& variant, Graft& graft) {
    auto& message = *graft.add_variants();
    message.set_id(variant.id);
    message.set_title(variant.title);
    message.set_refusal(variant.refusal);
    message.set_form(variant.form);
    for (const auto& function : variant.functions) message.add_functions(function);
    if (!variant.available()) return;
    message.set_stock(variant.stock_with ? Graft::POSITION_WITH : Graft::POSITION_WITHOUT);
    message.set_bit(variant.bit);
    const auto flip = facts.flips.find(variant.id);
    if (flip == facts.flips.end()) return;
    for (const auto& function : flip->second) message.add_changes(function);
}

void add_proofs(const BuildFacts& facts, Graft& graft) {
    auto& identity = *graft.mutable_identity();
    identity.set_compared(facts.identity.compared);
    identity.set_identical(facts.identity.identical.size());
    for (const auto& [function, reason] : facts.identity.different) {
        auto& difference = *identity.add_differences();
        difference.set_function(function);
        difference.set_reason(reason);
    }
    for (const auto& name : facts.identity.overridden) identity.add_overridden(name);
    if (facts.flips.empty()) return;  // the build didn't come to that proof
    graft.mutable_stock_proof()->set_compared(facts.stock_texts.size());
    for (const auto& name : facts.folded_different)
        graft.mutable_stock_proof()->add_different(name);
}

}  // namespace

Graft make_manifest(const BuildFacts& facts) {
    Graft graft;
    add_kernel(facts.kernel, graft);
    add_patch_set(facts, graft);
    for (const auto& name : facts.moved) graft.add_moved(name);
    for (const auto& name : facts.extract.copied_functions) graft.add_copied_functions(name);
    for (const auto& text : facts.extract.copied_data) graft.add_copied_data(text);
    for (const auto& text : facts.extract.module_data) graft.add_module_data(text);
    for (const auto& symbol : facts.bound) {
        auto& message = *graft.add_bound();
        message.set_name(symbol.name);
        message.set_position(symbol.position);
        message.set_references(symbol.references);
    }
    for (const auto& variant : facts.transformation.variants) add_variant(facts, variant, graft);
    add_proofs(facts, graft);
    graft.set_forced(facts.forced);
    graft.set_module_bytes(facts.module_bytes);
    graft.set_elapsed_ns(facts.elapsed_ns);
    return graft;
}

std::string manifest_text(const Graft& graft) {
    std::string text;
    if (!google::protobuf::TextFormat::PrintToString(graft, &text)) {
        fail(Exit::kRunFailed, "the manifest can't be printed");
    }
    return "# proto-file: proto/graft.proto\n# proto-message: fairswitch.Graft\n" + text;
}

}  // namespace fairswitch
