#include "userspace/graft/variants.h"

#include <algorithm>
#include <cctype>
#include <future>

#include "userspace/base/failure.h"
#include "userspace/graft/elf_object.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> sorted_files(const fs::path& folder, const std::string& prefix) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const auto name = entry.path().filename().string();
        if (entry.path().extension() == ".cocci" && name.compare(0, prefix.size(), prefix) == 0) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

struct Form {
    SemanticPatch patch;
    bool stock_with;
    PatchOutcome outcome;
};

std::vector<Form> read_forms(const fs::path& folder) {
    std::vector<Form> forms;
    for (const bool reverse : {false, true}) {
        for (const auto& file : sorted_files(folder, reverse ? "reverse" : "forward")) {
            forms.push_back({SemanticPatch::read(file), reverse, {}});
        }
    }
    if (forms.empty()) {
        fail(Exit::kRunFailed, "{}: holds no forward*.cocci and no reverse*.cocci",
             folder.string());
    }
    return forms;
}

std::string describe(const Form& form) {
    return fmt::format("{} looked for: {}{}", form.patch.path.filename().string(),
                       form.patch.construct,
                       form.outcome.found.empty() ? "" : " (found " + form.outcome.found + ")");
}

// The one form that fits, or nullptr with the reason in `ret_refusal`.
const Form* choose(const std::vector<Form>& forms, std::string& ret_refusal) {
    const Form* chosen = nullptr;
    std::string names;
    for (const auto& form : forms) {
        if (!form.outcome.matched) continue;
        names += (names.empty() ? "" : " and ") + form.patch.path.filename().string();
        if (chosen != nullptr) {
            ret_refusal = fmt::format(
                "{} both match, so fair.c holds the construct of either position; half a backport?",
                names);
            return nullptr;
        }
        chosen = &form;
    }
    if (chosen != nullptr) return chosen;
    for (const auto& form : forms) {
        ret_refusal += (ret_refusal.empty() ? "" : "; ") + describe(form);
    }
    return nullptr;
}

void add_macro(std::string& text, const GraftVariant& variant) {
    text += fmt::format(
        "\n/* {}: {} */\n"
        "#define FSW_V_{} {}\n"
        "#define FSW_STOCK_{} {}\n"
        "#ifndef FSW_FOLD_{}\n"
        "#define FSW_FOLD_{} FSW_STOCK_{}\n"
        "#endif\n",
        variant.id, variant.title, variant.macro, variant.bit, variant.macro,
        variant.stock_with ? 1 : 0, variant.macro, variant.macro, variant.macro);
}

}  // namespace

Transformer::Transformer(fs::path module, fs::path work)
    : module_(std::move(module)), work_(std::move(work)) {}

std::set<std::string> Transformer::named_functions() const {
    std::set<std::string> names;
    for (const auto* part : {"variants", "taps"}) {
        for (const auto& entry : fs::recursive_directory_iterator(module_ / part)) {
            if (entry.path().extension() != ".cocci") continue;
            for (const auto& expectation : SemanticPatch::read(entry.path()).expectations) {
                names.insert(expectation.function);
            }
        }
    }
    return names;
}

std::vector<std::string> Transformer::variant_ids() const {
    std::vector<std::string> ids;
    for (const auto& entry : fs::directory_iterator(module_ / "variants")) {
        if (entry.is_directory()) ids.push_back(entry.path().filename().string());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

GraftVariant Transformer::apply_variant(const std::string& id, fs::path& source) const {
    GraftVariant variant;
    variant.id = id;
    variant.macro = variant_macro(id);
    auto forms = read_forms(module_ / "variants" / id);
    std::vector<std::future<void>> running;
    for (auto& form : forms) {
        running.push_back(std::async(std::launch::async, [&] {
            const auto name = id + "." + form.patch.path.stem().string() + ".c";
            form.outcome =
                fairswitch::apply(form.patch, source, work_ / name, "FSW_V_" + variant.macro);
        }));
    }
    for (auto& one : running) one.get();
    variant.title = forms.front().patch.title;
    const Form* chosen = choose(forms, variant.refusal);
    if (chosen == nullptr) return variant;
    variant.title = chosen->patch.title;
    variant.stock_with = chosen->stock_with;
    variant.form = chosen->patch.path.filename().string();
    for (const auto& expectation : chosen->patch.expectations) {
        if (expectation.callee.empty()) variant.functions.push_back(expectation.function);
    }
    variant.before = source;
    variant.after = source = chosen->outcome.result;
    return variant;
}

// A tap is a file, or a folder of forms of which exactly one fits a kernel.
void Transformer::apply_tap(const fs::path& tap, fs::path& source) const {
    const auto files = fs::is_directory(tap) ? sorted_files(tap, "") : std::vector<fs::path>{tap};
    std::vector<PatchOutcome> matched;
    std::string found;
    for (const auto& file : files) {
        const auto output =
            work_ / fmt::format("tap.{}.{}.c", tap.stem().string(), file.stem().string());
        auto outcome = fairswitch::apply(SemanticPatch::read(file), source, output, "");
        found += fmt::format("{}{}: {}", found.empty() ? "" : "; ", file.filename().string(),
                             outcome.matched         ? "matched"
                             : outcome.found.empty() ? "nothing matched"
                                                     : "found " + outcome.found);
        if (outcome.matched) matched.push_back(std::move(outcome));
    }
    if (matched.size() != 1) {
        fail(Exit::kImpossible,
             "tap {}: fair.c isn't as it expects ({}); this kernel's decision functions have "
             "another form, and without its taps no record would be right",
             tap.filename().string(), found);
    }
    source = matched.front().result;
}

void Transformer::apply_taps(fs::path& source) const {
    std::vector<fs::path> taps;
    for (const auto& entry : fs::directory_iterator(module_ / "taps")) {
        if (entry.is_directory() || entry.path().extension() == ".cocci") {
            taps.push_back(entry.path());
        }
    }
    std::sort(taps.begin(), taps.end());
    for (const auto& tap : taps) apply_tap(tap, source);
}

Transformation Transformer::run(const fs::path& fair_c, const std::vector<std::string>& wanted,
                                const Progress& progress) const {
    fs::create_directories(work_);
    const auto known = variant_ids();
    for (const auto& id : wanted) {
        if (std::find(known.begin(), known.end(), id) == known.end()) {
            fail(Exit::kUsage, "variant '{}' is unknown; there are: {}", id,
                 fmt::join(known, ", "));
        }
    }
    Transformation result;
    fs::path source = fair_c;
    unsigned bit = 0;
    for (const auto& id : known) {
        const bool asked = std::find(wanted.begin(), wanted.end(), id) != wanted.end();
        if (!wanted.empty() && !asked) continue;
        auto variant = apply_variant(id, source);
        if (!variant.available() && asked) {
            fail(Exit::kImpossible, "variant {} can't be had on this kernel: {}", id,
                 variant.refusal);
        }
        if (variant.available()) variant.bit = bit++;
        progress(variant);
        result.variants.push_back(std::move(variant));
    }
    apply_taps(source);
    result.gated = work_ / "fair.c";
    fs::copy_file(source, result.gated, fs::copy_options::overwrite_existing);
    return result;
}

std::string variant_macro(const std::string& id) {
    std::string macro;
    for (const unsigned char c : id) {
        macro += std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
    }
    return macro;
}

std::string variants_header(const std::vector<GraftVariant>& variants) {
    std::string text =
        "/* Generated by fairswitch build: the variants that this kernel's fair.c can have. */\n"
        "#ifndef FAIRSWITCH_VARIANTS_H\n"
        "#define FAIRSWITCH_VARIANTS_H\n";
    std::string table;
    std::string fold;
    unsigned count = 0;
    unsigned stock = 0;
    for (const auto& variant : variants) {
        if (!variant.available()) continue;
        add_macro(text, variant);
        table += fmt::format(" \\\n\tX({}, {}, \"{}\", {})", variant.bit, variant.macro, variant.id,
                             variant.stock_with ? 1 : 0);
        fold += fmt::format("{}(FSW_FOLD_{} << {})", fold.empty() ? "" : " | ", variant.macro,
                            variant.bit);
        stock |= variant.stock_with ? 1U << variant.bit : 0U;
        ++count;
    }
    text += fmt::format(
        "\n/* X(bit, ID, \"id\", stock) */\n"
        "#define FSW_VARIANTS(X){}\n"
        "#define FSW_VARIANT_COUNT {}\n"
        "/* Bit n set: the kernel's own position of variant n is \"with\". */\n"
        "#define FSW_STOCK_WORD {:#x}u\n"
        "/* The same for a compilation with constant gates. */\n"
        "#define FSW_FOLD_WORD ({})\n"
        "\n#endif\n",
        table, count, stock, fold.empty() ? "0" : fold);
    return text;
}

std::string helpers_header(const std::vector<GraftVariant>& variants, const fs::path& module) {
    std::string text =
        "/* Generated by fairswitch build: what the variants' gated code calls. */\n";
    for (const auto& variant : variants) {
        const auto helpers = fs::path("variants") / variant.id / "helpers.h";
        if (!variant.available() || !fs::exists(module / helpers)) continue;
        text += fmt::format("#include \"{}\"\n", helpers.string());
    }
    return text;
}

}  // namespace fairswitch
