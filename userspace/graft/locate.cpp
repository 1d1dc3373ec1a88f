#include "userspace/graft/locate.h"

#include <sys/utsname.h>

#include <cctype>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/process.h"

#ifndef FAIRSWITCH_MODULE_SOURCE
#define FAIRSWITCH_MODULE_SOURCE ""
#endif

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::string first_word(const std::string& text) {
    std::istringstream in(text);
    std::string word;
    in >> word;
    return word;
}

std::string running_release(const fs::path& system = "/") {
    const auto file = system / "proc/sys/kernel/osrelease";
    if (fs::exists(file)) return first_word(read_file(file));
    utsname name{};
    if (uname(&name) != 0) fail(Exit::kImpossible, "uname failed; can't tell the running kernel");
    return name.release;
}

bool is_source_tree(const fs::path& folder) {
    return fs::exists(folder / "kernel/sched/fair.c") && fs::exists(folder / "Makefile");
}

// Where the source of a release can be, the likeliest first: the tree that the kernel was built
// in, the tree that was built from elsewhere (O=), a distribution's package, a tree put there.
std::vector<fs::path> source_trees(const fs::path& system, const fs::path& kdir,
                                   const std::string& release) {
    const auto version = release.substr(0, release.find_first_not_of("0123456789."));
    const auto packages = system / "usr/src";
    return {kdir,
            kdir / "source",
            system / "lib/modules" / release / "source",
            packages / ("linux-source-" + series_of(release)),
            packages / ("linux-source-" + version),
            packages / ("linux-" + version),
            packages / "linux"};
}

// A tree of the right version, else the package's archive, else any tree, to be refused by name.
fs::path default_source(const fs::path& system, const fs::path& kdir, const std::string& release) {
    fs::path other;
    for (const auto& tree : source_trees(system, kdir, release)) {
        if (!is_source_tree(tree)) continue;
        const auto version = version_of_tree(tree);
        if (!version.empty() && same_version(version, release)) return tree;
        if (other.empty()) other = tree;
    }
    const auto package = (system / "usr/src/linux-source-").string() + series_of(release);
    for (const char* suffix : {".tar.xz", ".tar.zst", ".tar.bz2", ".tar.gz"}) {
        if (fs::exists(package + suffix)) return package + suffix;
    }
    return other.empty() ? fs::path(package + ".tar.xz") : other;
}

// A kernel that was only built, not installed, has its image in its tree.
fs::path default_image(const fs::path& system, const fs::path& kdir, const std::string& release) {
    const auto usual = system / ("boot/vmlinuz-" + release);
    for (const auto& image : {usual, system / "lib/modules" / release / "vmlinuz",
                              kdir / "arch/x86/boot/bzImage", kdir / "vmlinux"}) {
        if (fs::exists(image)) return image;
    }
    return usual;
}

void require(const fs::path& path, const std::string& what, const std::string& remedy) {
    if (!fs::exists(path)) {
        fail(Exit::kImpossible, "{} not found: {} doesn't exist; {}", what, path.string(), remedy);
    }
}

// Whether the compiler is one whose code the graft can compare and link.
void check_compiler_kind(const std::map<std::string, std::string>& config,
                         const std::string& release) {
    if (config.count("CONFIG_CC_IS_CLANG") == 0) return;
    fail(Exit::kImpossible,
         "kernel {} was built by clang; its code can't be grafted yet, so build it with gcc",
         release);
}

void check_config(const std::map<std::string, std::string>& config, const std::string& release) {
    for (const auto& [name, purpose] : needed_settings()) {
        const auto found = config.find(name);
        if (found != config.end() && found->second == "y") continue;
        fail(Exit::kImpossible,
             "kernel {} was built without {} (found {}, expected y), which is needed for {}; use a "
             "kernel that has it, such as Debian's",
             release, name, found == config.end() ? "not set" : found->second, purpose);
    }
}

// A distribution's plain "gcc" has its package named by version: the last word is 12.2.0.
std::string compiler_package(const std::string& program, const std::string& wanted) {
    const auto prefix = program.rfind("gnu-");
    const auto name = prefix == std::string::npos ? program : program.substr(prefix + 4);
    const auto version = wanted.rfind(' ') + 1;
    const auto dot = wanted.find('.', version);
    if (name != "gcc" || version == 0 || dot == std::string::npos) return name;
    return "gcc-" + wanted.substr(version, dot - version);
}

// The identity proof can only succeed with the very compiler that built the kernel.
std::string check_compiler(const std::string& wanted, const ToolRoot& tools) {
    const auto search = find_compiler(wanted, tools);
    if (!search.program.empty()) return search.program;
    fail(Exit::kImpossible,
         "the kernel was built by '{}', found '{}'; another compiler makes other code, so install "
         "that one (Debian package {}, version in the parentheses)",
         wanted, search.found, search.package);
}

fs::path unpack_source(const BuildOptions& options, const fs::path& tarball) {
    const auto tree = options.out / "source";
    const auto mark = tree / ".unpacked-from";
    const auto stamp = fmt::format("{} {}\n", fs::absolute(tarball).string(),
                                   fs::last_write_time(tarball).time_since_epoch().count());
    if (fs::exists(mark) && read_file(mark) == stamp) return tree;
    fs::remove_all(tree);
    fs::create_directories(tree);
    const auto result =
        run_process({"tar", "-xf", tarball, "-C", tree, "--strip-components=1", "--wildcards",
                     "*/kernel/sched", "*/kernel/*.h", "--no-wildcards-match-slash", "*/Makefile"});
    if (result.status != 0) {
        fail(Exit::kImpossible,
             "{}: tar can't unpack kernel/sched from it; truncated? Install the package again. Tar "
             "said:\n{}",
             tarball.string(), last_lines(result.output, 5));
    }
    if (!is_source_tree(tree)) {
        fail(Exit::kImpossible,
             "{}: holds no kernel/sched/fair.c; expected the archive of a kernel's whole source",
             tarball.string());
    }
    write_file(mark, stamp);
    return tree;
}

// What fair.c includes from beside it; an archive that was cut off lacks some.
void check_complete(const fs::path& source) {
    std::istringstream lines(read_file(source / "kernel/sched/fair.c"));
    const std::string start = "#include \"";
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, start.size(), start) != 0) continue;
        const auto header = line.substr(start.size(), line.rfind('"') - start.size());
        if (fs::exists(source / "kernel/sched" / header)) continue;
        fail(Exit::kImpossible,
             "{}: is incomplete: kernel/sched/fair.c includes {}, and there is no kernel/sched/{}; "
             "install the source package again, or see --source",
             source.string(), header, header);
    }
}

void check_source(const fs::path& source, const std::string& release) {
    const auto version = source_version(source);
    if (!same_version(version, release)) {
        fail(Exit::kImpossible,
             "{}: is the source of Linux {}, but the headers are those of {}; install the source "
             "package of the same version (Debian: linux-source-{} of the version that "
             "/proc/version names)",
             source.string(), version, release, series_of(release));
    }
}

}  // namespace

void BuildOptions::fill(const fs::path& system) {
    running_kernel = running_kernel || (image.empty() && kallsyms.empty());
    auto release = running_release(system);
    if (kdir.empty()) kdir = system / "lib/modules" / release / "build";
    const auto of_headers = release_of_headers(kdir);
    if (!running_kernel && !of_headers.empty()) release = of_headers;
    if (source.empty()) {
        source = default_source(system, kdir, of_headers.empty() ? release : of_headers);
    }
    if (image.empty()) image = default_image(system, kdir, release);
    if (kallsyms.empty()) kallsyms = system / "proc/kallsyms";
    if (module.empty()) {
        const char* given = std::getenv("FAIRSWITCH_MODULE");
        module = given != nullptr ? given : FAIRSWITCH_MODULE_SOURCE;
    }
    for (auto* path : {&kdir, &source, &image, &module, &out}) *path = fs::absolute(*path);
}

void BuildOptions::complete() {
    fill();
    require(kdir, "kernel headers",
            "install the package linux-headers-" + running_release() +
                ", or see --kdir for a kernel built from its own tree");
    if (root.empty()) return;
    tools = ToolRoot(root);
    for (const auto* path : {&kdir, &source, &module, &out}) tools.check_visible(*path);
}

Kernel locate(const BuildOptions& options) {
    Kernel kernel;
    const std::string prepared =
        "expected prepared headers there (package linux-headers-RELEASE) or a built kernel tree";
    require(options.kdir / ".config", "kernel configuration", prepared);
    require(options.kdir / "Module.symvers", "list of exported symbols", prepared);
    require(options.image, "kernel image", "expected the vmlinuz of that kernel; see --image");
    require(options.kallsyms, "kernel symbols", "see --kallsyms");
    require(options.module / "variants", "module sources",
            "expected fairswitch's module/ folder; see --module-source");
    kernel.release = release_of_headers(options.kdir);
    if (kernel.release.empty()) {
        fail(Exit::kImpossible, "{}: names no kernel release; {}", options.kdir.string(), prepared);
    }
    kernel.config = parse_config(read_file(options.kdir / ".config"));
    check_config(kernel.config, kernel.release);
    check_compiler_kind(kernel.config, kernel.release);
    require(options.source, "kernel source",
            "install the package linux-source-" + series_of(kernel.release) +
                " of the running kernel's version, or see --source");
    kernel.compiler = kernel.config["CONFIG_CC_VERSION_TEXT"];
    kernel.compiler_program = check_compiler(kernel.compiler, options.tools);
    kernel.source =
        fs::is_directory(options.source) ? options.source : unpack_source(options, options.source);
    require(kernel.source / "kernel/sched/fair.c", "fair.c", "expected a kernel source tree");
    check_source(kernel.source, kernel.release);
    check_complete(kernel.source);
    return kernel;
}

const std::vector<NeededSetting>& needed_settings() {
    static const std::vector<NeededSetting> needed = {
        {"CONFIG_LIVEPATCH", "the kernel's livepatch core"},
        {"CONFIG_KALLSYMS_ALL", "the addresses of fair.c's variables"},
        {"CONFIG_DYNAMIC_FTRACE_WITH_ARGS", "the redirection of functions"},
        {"CONFIG_MODULES", "loadable modules"},
        {"CONFIG_SMP", "runqueues per CPU"},
    };
    return needed;
}

CompilerSearch find_compiler(const std::string& wanted, const ToolRoot& tools) {
    CompilerSearch search;
    const auto program = first_word(wanted);
    search.package = compiler_package(program, wanted);
    const auto version = [](const std::string& text) {
        const auto at = text.find(' ');
        return at == std::string::npos ? text : text.substr(at);
    };
    for (const auto& name : {program, search.package}) {
        const auto result = run_process(
            {"/bin/sh", "-c", name + " --version 2>/dev/null | head -n 1"}, {.root = &tools});
        if (result.output.empty()) continue;
        search.found = result.output.substr(0, result.output.find('\n'));
        if (version(search.found) != version(wanted)) continue;
        search.program = name;
        return search;
    }
    if (search.found.empty()) search.found = "none";
    return search;
}

std::string release_of_headers(const fs::path& kdir) {
    const auto file = kdir / "include/config/kernel.release";
    if (fs::exists(file)) return first_word(read_file(file));
    const auto header = kdir / "include/generated/utsrelease.h";
    if (!fs::exists(header)) return {};
    const auto text = read_file(header);
    const auto open = text.find('"');
    const auto close = text.find('"', open + 1);
    if (open == std::string::npos || close == std::string::npos) return {};
    return text.substr(open + 1, close - open - 1);
}

std::string series_of(const std::string& release) {
    const auto first = release.find('.');
    const auto second = release.find_first_not_of("0123456789", first + 1);
    return release.substr(0, second);
}

// A release is the version and what the distribution appends: 6.12.117+deb12-cloud-amd64.
bool same_version(const std::string& version, const std::string& release) {
    return release.compare(0, version.size(), version) == 0 &&
           (release.size() == version.size() ||
            std::isdigit(static_cast<unsigned char>(release[version.size()])) == 0);
}

std::map<std::string, std::string> parse_config(const std::string& text) {
    std::map<std::string, std::string> config;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto equals = line.find('=');
        if (line.compare(0, 7, "CONFIG_") != 0 || equals == std::string::npos) continue;
        auto value = line.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
        config[line.substr(0, equals)] = value;
    }
    return config;
}

std::string version_of_tree(const fs::path& tree) {
    if (!fs::exists(tree / "Makefile")) return {};
    std::istringstream lines(read_file(tree / "Makefile"));
    std::map<std::string, std::string> values;
    for (std::string line; std::getline(lines, line) && values.size() < 4;) {
        std::istringstream words(line);
        std::string key;
        std::string equals;
        std::string value;
        words >> key >> equals >> value;
        for (const char* wanted : {"VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION"}) {
            if (key == wanted && equals == "=") values[key] = value;
        }
    }
    if (values["VERSION"].empty() || values["PATCHLEVEL"].empty()) return {};
    auto version = values["VERSION"] + "." + values["PATCHLEVEL"];
    if (!values["SUBLEVEL"].empty()) version += "." + values["SUBLEVEL"];
    return version + values["EXTRAVERSION"];
}

std::string source_version(const fs::path& tree) {
    auto version = version_of_tree(tree);
    if (version.empty()) {
        fail(Exit::kImpossible, "{}: has no VERSION and PATCHLEVEL; expected a kernel's Makefile",
             (tree / "Makefile").string());
    }
    return version;
}

}  // namespace fairswitch
