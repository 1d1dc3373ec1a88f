// The variants of the module folder, as they apply to one kernel's fair.c.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/semantic_patch.h"

namespace fairswitch {

// Not to be confused with a loaded module's Variant (userspace/device/arm.h).
struct GraftVariant {
    std::string id;     // "dequeue-delayed": the folder's name
    std::string macro;  // "DEQUEUE_DELAYED"
    std::string title;
    bool stock_with = false;             // what the unpatched kernel does
    std::string refusal;                 // why it can't be had here; empty if it can
    std::string form;                    // file that matched
    std::vector<std::string> functions;  // where its gates are
    unsigned bit = 0;                    // in the gate word, if not refused
    std::filesystem::path before;        // fair.c as this variant met it, and as it left it
    std::filesystem::path after;

    bool available() const { return refusal.empty(); }
};

// fair.c with everything applied.
struct Transformation {
    std::vector<GraftVariant> variants;  // by id
    std::filesystem::path gated;
};

class Transformer {
  public:
    // `module`: folder with variants/ and taps/. `work`: scratch, made by run().
    Transformer(std::filesystem::path module, std::filesystem::path work);

    // Variants first, in order of their names, then taps. With `wanted` only those variants, and
    // each must apply; without, those that don't apply are refused by name and left out.
    // `progress` hears of each variant when it is done.
    using Progress = std::function<void(const GraftVariant&)>;
    Transformation run(
        const std::filesystem::path& fair_c, const std::vector<std::string>& wanted,
        const Progress& progress = [](const GraftVariant&) {}) const;

    // Functions that a form of any variant or tap expects to change, on whichever kernel.
    std::set<std::string> named_functions() const;
    // Names of all variant folders.
    std::vector<std::string> variant_ids() const;

  private:
    GraftVariant apply_variant(const std::string& id, std::filesystem::path& source) const;
    void apply_taps(std::filesystem::path& source) const;
    void apply_tap(const std::filesystem::path& tap, std::filesystem::path& source) const;

    std::filesystem::path module_;
    std::filesystem::path work_;
};

// "dequeue-delayed" -> "DEQUEUE_DELAYED".
std::string variant_macro(const std::string& id);

// The text of fairswitch_variants.h.
std::string variants_header(const std::vector<GraftVariant>& variants);

// The text of fairswitch_helpers.h: the helpers.h of each variant of `module` that has one.
std::string helpers_header(const std::vector<GraftVariant>& variants,
                           const std::filesystem::path& module);

}  // namespace fairswitch
