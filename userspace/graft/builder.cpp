#include "userspace/graft/builder.h"

#include <fmt/format.h>

#include "userspace/base/failure.h"
#include "userspace/graft/manifest.h"
#include "userspace/graft/process.h"
#include "userspace/graft/verify.h"

namespace fairswitch {
namespace fs = std::filesystem;

Builder::Builder(BuildOptions options, std::FILE* progress)
    : options_(std::move(options)), progress_(progress) {
    options_.complete();
    fs::create_directories(options_.out);
    // A module of an earlier run must not pass for this one's if this one fails.
    fs::remove(out("fairswitch.ko"));
    fs::remove(out("graft.textproto"));
}

void Builder::run() {
    locate_inputs();
    transform();
    compile();
    measure_patch_set();
    prove_source();
    prove_stock();
    extract_graft();
    build_module();
    link_module();
    verify_module();
    finish();
}

const BuildFacts& Builder::examine() {
    locate_inputs();
    transform();
    compile(main_jobs());
    measure_patch_set();
    compare_source();
    return facts_;
}

std::chrono::duration<double> Builder::elapsed() const {
    return std::chrono::steady_clock::now() - start_;
}

void Builder::report(const std::string& step, const std::string& text) const {
    fmt::print(progress_, "[{:5.1f} s] {:<9} {}\n", elapsed().count(), step, text);
    std::fflush(progress_);
}

void Builder::locate_inputs() {
    if (!fs::is_directory(options_.source)) {
        report("locate",
               fmt::format("kernel/sched of {}, unpacked once", options_.source.string()));
    }
    facts_.kernel = locate(options_);
    report("locate",
           fmt::format("headers of {}, source of {} in {}", facts_.kernel.release,
                       source_version(facts_.kernel.source), facts_.kernel.source.string()));
    image_ = KernelImage::read(options_.image, out("image"));
    check_image();
    kallsyms_ = Kallsyms::read(options_.kallsyms);
    exported_ = parse_module_symvers(read_file(options_.kdir / "Module.symvers"));
    report("locate",
           fmt::format("image of {}, build-id {}", kernel_name(), facts_.kernel.build_id));
}

void Builder::check_image() {
    auto& kernel = facts_.kernel;
    kernel.banner = image_->banner();
    kernel.package_version = package_version(kernel.banner);
    kernel.build_id = image_->build_id();
    if (banner_release(kernel.banner) != kernel.release) {
        fail(Exit::kImpossible,
             "{}: is kernel {}, but the headers are those of {}; give the image "
             "of the same kernel",
             options_.image.string(), banner_release(kernel.banner), kernel.release);
    }
    if (!options_.running_kernel) return;
    const auto running = find_build_id(read_file("/sys/kernel/notes"));
    if (running != kernel.build_id) {
        fail(Exit::kImpossible,
             "{}: has build-id {}, but the running kernel has {}; the image was replaced by an "
             "update since boot, so reboot or give the old image",
             options_.image.string(), kernel.build_id, running);
    }
}

void Builder::transform() {
    const Transformer transformer(options_.module, out("transform"));
    const auto progress = [this](const GraftVariant& variant) {
        report("transform", variant.available()
                                ? fmt::format("{}: stock is {}", variant.id,
                                              variant.stock_with ? "with" : "without")
                                : fmt::format("{}: refused, {}", variant.id, variant.refusal));
    };
    facts_.transformation =
        transformer.run(facts_.kernel.source / "kernel/sched/fair.c", options_.variants, progress);
    fs::create_directories(out("generated"));
    write_file(out("generated/fairswitch_variants.h"),
               variants_header(facts_.transformation.variants));
    write_file(out("generated/fairswitch_helpers.h"),
               helpers_header(facts_.transformation.variants, options_.module));
}

std::vector<fs::path> Builder::includes() const {
    return {out("generated"), options_.module, options_.module / "uapi"};
}

// Gated fair.c with constant gates: all at stock, and each variant turned alone.
std::vector<Compiler::Job> Builder::fold_jobs() const {
    const auto& gated = facts_.transformation.gated;
    std::vector<Compiler::Job> jobs = {
        {gated, out("objects/folded.o"), includes(), {"-DFSW_FOLD"}}};
    for (const auto& variant : facts_.transformation.variants) {
        if (!variant.available()) continue;
        jobs.push_back({gated,
                        out("objects/turned-" + variant.id + ".o"),
                        includes(),
                        {"-DFSW_FOLD", fmt::format("-DFSW_FOLD_{}={}", variant.macro,
                                                   variant.stock_with ? 0 : 1)}});
    }
    return jobs;
}

// Stock comes first: if the source itself doesn't compile, that is what has to be said.
std::vector<Compiler::Job> Builder::main_jobs() const {
    return {{facts_.kernel.source / "kernel/sched/fair.c",
             out("objects/stock.o"),
             {},
             {},
             out("objects/laid-out.o")},
            {facts_.transformation.gated, out("objects/gated.o"), includes(), {}}};
}

void Builder::compile() {
    auto jobs = main_jobs();
    for (auto& job : fold_jobs()) jobs.push_back(std::move(job));
    compile(jobs);
}

void Builder::compile(const std::vector<Compiler::Job>& jobs) {
    const Compiler compiler(options_.kdir, facts_.kernel.source, options_.out,
                            facts_.kernel.compiler_program, options_.tools);
    fs::create_directories(out("objects"));
    report("compile", fmt::format("fair.c {} times: stock, gated{}", jobs.size(),
                                  jobs.size() > 2 ? ", and with gates held" : ""));
    compiler.compile(jobs);
    facts_.stock = Object::read(out("objects/stock.o"));
    facts_.gated = Object::read(out("objects/gated.o"));
    facts_.stock_texts = function_texts(facts_.stock, "stock fair.c");
    facts_.gated_texts = function_texts(facts_.gated, "gated fair.c");
    report("compile", fmt::format("{} functions", facts_.stock_texts.size()));
}

void Builder::measure_patch_set() {
    const auto gated = functions_with_gates(facts_.gated);
    for (const auto& name : differing_functions(facts_.stock_texts, facts_.gated_texts)) {
        (gated.count(name) != 0 ? facts_.patch_set : facts_.moved).insert(name);
    }
    if (facts_.patch_set.empty()) {
        fail(Exit::kImpossible, "no function of fair.c differs after gates and taps were added");
    }
    report("measure", "patch set: " + join(facts_.patch_set));
    if (!facts_.moved.empty()) {
        report("measure", "differ without gate or tap, stay the kernel's: " + join(facts_.moved));
    }
}

void Builder::compare_source() {
    auto& identity = facts_.identity;
    const auto stock = Object::read(out("objects/laid-out.o"));
    identity = prove_identity(stock, "stock fair.c", *image_, kallsyms_);
    report("prove", fmt::format("source is this kernel's: {} of {} functions identical to {}",
                                identity.identical.size(), identity.compared, kernel_name()));
    for (const auto& [name, reason] : identity.different) {
        report("prove", fmt::format("  {} differs: {}", name, reason));
    }
}

void Builder::prove_source() {
    compare_source();
    const auto& identity = facts_.identity;
    for (const auto& name : facts_.patch_set) {
        if (identity.identical.count(name) != 0) continue;
        if (identity.identical.empty() || !options_.force || !kallsyms_.has(name)) {
            refuse_replacement(identity, name, kernel_name());
        }
        facts_.forced = true;
        report("prove", fmt::format("  forced: {} is replaced although it differs", name));
    }
}

void Builder::prove_stock() {
    const auto difference = [this](const std::string& object) {
        const auto folded = Object::read(out("objects/" + object));
        return differing_functions(facts_.stock_texts, function_texts(folded, object));
    };
    facts_.folded_different = difference("folded.o");
    if (!facts_.folded_different.empty()) {
        fail(Exit::kRunFailed,
             "arm 0 isn't stock: with every gate held at stock these functions still differ from "
             "the kernel's source: {}; a variant or tap changes code outside of its gate",
             join(facts_.folded_different));
    }
    report("prove", fmt::format("arm 0 is stock: {} functions identical with gates held at stock",
                                facts_.stock_texts.size()));
    for (const auto& variant : facts_.transformation.variants) {
        if (!variant.available()) continue;
        auto& changes = facts_.flips[variant.id];
        changes = difference("turned-" + variant.id + ".o");
        if (changes.empty()) {
            fail(Exit::kRunFailed, "variant {}: turned at build time it changes no code at all",
                 variant.id);
        }
        report("prove", fmt::format("{} turned changes: {}", variant.id, join(changes)));
    }
}

const std::string& Builder::kernel_name() const {
    const auto& kernel = facts_.kernel;
    return kernel.package_version.empty() ? kernel.release : kernel.package_version;
}

bool Builder::kernel_has(const std::string& function) const {
    if (!is_clone(function)) return kallsyms_.has(function);
    // A clone's parameters are the compiler's choice: only an identical one can be called.
    const auto stock = facts_.stock_texts.find(function);
    const auto gated = facts_.gated_texts.find(function);
    return facts_.identity.identical.count(function) != 0 && stock != facts_.stock_texts.end() &&
           gated != facts_.gated_texts.end() && stock->second == gated->second;
}

void Builder::extract_graft() {
    const ExtractInput input{
        facts_.gated, Compiler::local_names(out("objects/gated.o")), facts_.patch_set,
        [this](const std::string& name) { return kernel_has(name); }, kallsyms_};
    facts_.extract = extract(input);
    facts_.extract.object.write(out("objects/fair_graft.o"));
    const auto& copied = facts_.extract.copied_functions;
    report("extract",
           fmt::format("{} functions; copied along: {}; data: {}", facts_.patch_set.size(),
                       copied.empty() ? "none" : fmt::to_string(fmt::join(copied, " ")),
                       fmt::join(facts_.extract.copied_data, ", ")));
    write_patch_set_header();
}

void Builder::write_patch_set_header() {
    std::string header =
        "/* Generated by fairswitch build: the functions that are replaced. */\n"
        "/* X(function, position among kernel symbols of that name) */\n"
        "#define FSW_PATCH_SET(X)";
    for (const auto& name : facts_.patch_set) {
        const auto found = facts_.identity.identical.find(name);
        const auto unique = kallsyms_.unique(name);
        const auto position = found != facts_.identity.identical.end()
                                  ? kallsyms_.position(name, found->second)
                                  : (unique ? std::optional(0U) : std::nullopt);
        if (!position) {
            fail(Exit::kImpossible,
                 "{}: several kernel symbols have this name, and none is "
                 "identical to the source's",
                 name);
        }
        facts_.positions[name] = *position;
        header += fmt::format(" \\\n\tX({}, {})", name, *position);
    }
    header += "\n";
    write_file(out("generated/fairswitch_patchset.h"), header);
}

void Builder::build_module() {
    const auto folder = out("module");
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& entry : fs::directory_iterator(options_.module)) {
        const auto name = entry.path().filename().string();
        const auto extension = entry.path().extension();
        if (extension == ".c" || extension == ".h" || name == "Kbuild" || name == "uapi") {
            fs::copy(entry.path(), folder / name, fs::copy_options::recursive);
        }
    }
    for (const auto& entry : fs::directory_iterator(out("generated"))) {
        fs::copy(entry.path(), folder / entry.path().filename());
    }
    fs::copy(out("objects/fair_graft.o"), folder / "fair_graft.o");
    // modpost reads the command file of each object, and a copied one has none.
    write_file(folder / ".fair_graft.o.cmd",
               "savedcmd_" + (folder / "fair_graft.o").string() + " := copied\n");
    // objtool must see the linked module whole, also where the configuration doesn't ask for it.
    // modpost can't know the symbols that the link step binds; verify checks each.
    const auto result = run_process(
        {"make", "-j2", "-C", options_.kdir, "M=" + folder.string(),
         "CC=" + facts_.kernel.compiler_program,
         "FSW_SCHED=" + (facts_.kernel.source / "kernel/sched").string(), "KBUILD_MODPOST_WARN=1",
         "delay-objtool=y", "CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"},
        {.root = &options_.tools});
    write_file(out("module.log"), result.output);
    if (result.status != 0) {
        fail(Exit::kRunFailed, "kbuild can't build the module (all of it: {}):\n{}",
             out("module.log").string(), last_lines(result.output, 25));
    }
    report("build", "kbuild made the module");
}

void Builder::link_module() {
    auto module = Object::read(out("module/fairswitch.ko"));
    facts_.bound = klp_link(module, {kallsyms_, exported_, facts_.identity.identical});
    module.write(out("fairswitch.ko.new"));
    std::set<std::string> names;
    for (const auto& symbol : facts_.bound) names.insert(symbol.name);
    report("link", fmt::format("{} kernel symbols bound: {}", names.size(), join(names)));
}

void Builder::verify_module() {
    std::set<std::string> functions = facts_.patch_set;
    for (const auto& name : facts_.extract.copied_functions) functions.insert(owner_of(name));
    const auto module = Object::read(out("fairswitch.ko.new"));
    const size_t compared =
        verify({module, facts_.gated, functions, exported_, kallsyms_, facts_.kernel.release});
    report("verify", fmt::format("livepatch, no dependencies, every symbol resolves once, {} code "
                                 "parts as compiled",
                                 compared));
}

void Builder::finish() {
    fs::rename(out("fairswitch.ko.new"), out("fairswitch.ko"));
    facts_.module_bytes = fs::file_size(out("fairswitch.ko"));
    facts_.elapsed_ns = static_cast<uint64_t>(elapsed().count() * 1e9);
    write_file(out("graft.textproto"), manifest_text(make_manifest(facts_)));
    report("done", fmt::format("{} ({} KiB), manifest {}", out("fairswitch.ko").string(),
                               facts_.module_bytes / 1024, out("graft.textproto").string()));
}

std::string join(const std::set<std::string>& names) {
    return fmt::to_string(fmt::join(names, " "));
}

}  // namespace fairswitch
