#include "userspace/graft/locate.h"

#include <sys/utsname.h>

#include <array>
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

std::string running_release() {
    utsname name{};
    if (uname(&name) != 0) fail(Exit::kImpossible, "uname failed; can't tell the running kernel");
    return name.release;
}

// "6.12" of "6.12.117+deb12-cloud-amd64": how Debian names its source package.
std::string major_version(const std::string& release) {
    const auto first = release.find('.');
    const auto second = release.find_first_not_of("0123456789", first + 1);
    return release.substr(0, second);
}

fs::path default_source(const std::string& release) {
    const auto base = "/usr/src/linux-source-" + major_version(release);
    for (const char* suffix : {"", ".tar.xz", ".tar.bz2", ".tar.gz", ".tar.zst"}) {
        if (fs::exists(base + suffix)) return base + suffix;
    }
    return base + ".tar.xz";
}

void require(const fs::path& path, const std::string& what, const std::string& remedy) {
    if (!fs::exists(path)) {
        fail(Exit::kImpossible, "{} not found: {} doesn't exist; {}", what, path.string(), remedy);
    }
}

std::string first_word(const std::string& text) {
    std::istringstream in(text);
    std::string word;
    in >> word;
    return word;
}

void check_config(const std::map<std::string, std::string>& config, const std::string& release) {
    constexpr std::array needed = {
        std::pair{"CONFIG_LIVEPATCH", "the kernel's livepatch core"},
        std::pair{"CONFIG_KALLSYMS_ALL", "the addresses of fair.c's variables"},
        std::pair{"CONFIG_DYNAMIC_FTRACE_WITH_ARGS", "the redirection of functions"},
        std::pair{"CONFIG_MODULES", "loadable modules"},
        std::pair{"CONFIG_SMP", "runqueues per CPU"},
    };
    for (const auto& [name, why] : needed) {
        const auto found = config.find(name);
        if (found != config.end() && found->second == "y") continue;
        fail(Exit::kImpossible,
             "kernel {} was built without {} (found {}, expected y), which is needed for {}; use a "
             "kernel that has it, such as Debian's",
             release, name, found == config.end() ? "not set" : found->second, why);
    }
}

// The identity proof can only succeed with the very compiler that built the kernel.
void check_compiler(const std::string& wanted, const ToolRoot& tools) {
    const auto program = first_word(wanted);
    const auto plain =
        program.substr(program.rfind("gnu-") == std::string::npos ? 0 : program.rfind("gnu-") + 4);
    std::string found = "none";
    for (const auto& name : {program, plain}) {
        const auto result = run_process(
            {"/bin/sh", "-c", name + " --version 2>/dev/null | head -n 1"}, {.root = &tools});
        if (result.output.empty()) continue;
        found = result.output.substr(0, result.output.find('\n'));
        const auto tail = [](const std::string& text) {
            const auto at = text.find(' ');
            return at == std::string::npos ? text : text.substr(at);
        };
        if (tail(found) == tail(wanted)) return;
    }
    fail(Exit::kImpossible,
         "the kernel was built by '{}', found '{}'; another compiler makes other code, so install "
         "that one (Debian package {}, version in the parentheses)",
         wanted, found, plain);
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
        fail(Exit::kImpossible, "{}: tar can't unpack kernel/sched from it:\n{}", tarball.string(),
             last_lines(result.output, 5));
    }
    write_file(mark, stamp);
    return tree;
}

void check_source(const fs::path& source, const std::string& release) {
    const auto version = source_version(source);
    // A release is the version and what the distribution appends: 6.12.117+deb12-cloud-amd64.
    const bool same = release.compare(0, version.size(), version) == 0 &&
                      (release.size() == version.size() ||
                       std::isdigit(static_cast<unsigned char>(release[version.size()])) == 0);
    if (!same) {
        fail(Exit::kImpossible,
             "{}: is the source of Linux {}, but the headers are those of {}; install the source "
             "package of the same version (Debian: linux-source-{} of the version that "
             "/proc/version names)",
             source.string(), version, release, major_version(release));
    }
}

std::string kernel_release(const fs::path& kdir) {
    const auto file = kdir / "include/config/kernel.release";
    if (fs::exists(file)) return first_word(read_file(file));
    const auto text = read_file(kdir / "include/generated/utsrelease.h");
    const auto open = text.find('"');
    const auto close = text.find('"', open + 1);
    if (open == std::string::npos || close == std::string::npos) {
        fail(Exit::kImpossible, "{}: names no kernel release", kdir.string());
    }
    return text.substr(open + 1, close - open - 1);
}

}  // namespace

void BuildOptions::complete() {
    running_kernel = image.empty() && kallsyms.empty();
    const auto release = kdir.empty() || image.empty() ? running_release() : std::string();
    if (kdir.empty()) kdir = "/lib/modules/" + release + "/build";
    require(kdir, "kernel headers", "install the package linux-headers-" + release);
    if (source.empty()) source = default_source(kernel_release(kdir));
    if (image.empty()) image = "/boot/vmlinuz-" + release;
    if (kallsyms.empty()) kallsyms = "/proc/kallsyms";
    if (module.empty()) {
        const char* given = std::getenv("FAIRSWITCH_MODULE");
        module = given != nullptr ? given : FAIRSWITCH_MODULE_SOURCE;
    }
    for (auto* path : {&kdir, &source, &image, &module, &out}) *path = fs::absolute(*path);
    if (root.empty()) return;
    tools = ToolRoot(root);
    for (const auto* path : {&kdir, &source, &module, &out}) tools.check_visible(*path);
}

Kernel locate(const BuildOptions& options) {
    Kernel kernel;
    require(options.kdir / ".config", "kernel configuration",
            "expected prepared headers there (package linux-headers-RELEASE)");
    require(options.kdir / "Module.symvers", "list of exported symbols",
            "expected prepared headers there (package linux-headers-RELEASE)");
    require(options.image, "kernel image", "expected the vmlinuz of that kernel; see --image");
    require(options.kallsyms, "kernel symbols", "see --kallsyms");
    require(options.module / "variants", "module sources",
            "expected fairswitch's module/ folder; see --module-source");
    kernel.release = kernel_release(options.kdir);
    kernel.config = parse_config(read_file(options.kdir / ".config"));
    check_config(kernel.config, kernel.release);
    require(options.source, "kernel source",
            "install the package linux-source-" + major_version(kernel.release) +
                " of the running kernel's version, or see --source");
    kernel.compiler = kernel.config["CONFIG_CC_VERSION_TEXT"];
    check_compiler(kernel.compiler, options.tools);
    kernel.source =
        fs::is_directory(options.source) ? options.source : unpack_source(options, options.source);
    require(kernel.source / "kernel/sched/fair.c", "fair.c", "expected a kernel source tree");
    check_source(kernel.source, kernel.release);
    return kernel;
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

std::string source_version(const fs::path& tree) {
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
    if (values["VERSION"].empty() || values["PATCHLEVEL"].empty()) {
        fail(Exit::kImpossible, "{}: has no VERSION and PATCHLEVEL; expected a kernel's Makefile",
             (tree / "Makefile").string());
    }
    auto version = values["VERSION"] + "." + values["PATCHLEVEL"];
    if (!values["SUBLEVEL"].empty()) version += "." + values["SUBLEVEL"];
    return version + values["EXTRAVERSION"];
}

}  // namespace fairswitch
