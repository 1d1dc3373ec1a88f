#include <fmt/format.h>
#include <unistd.h>

#include "userspace/device/loading.h"
#include "userspace/doctor/checks.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/image.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::string install(const std::string& package) { return "apt install " + package; }

// The exact package: source of another package version isn't this kernel's.
std::string source_package(const Subject& subject) {
    const auto version = package_version(subject.banner);
    return "linux-source-" + series_of(subject.release) + (version.empty() ? "" : "=" + version);
}

// Version of an installed Debian package; empty if it isn't, or if there is no dpkg.
std::string installed_version(const Subject& subject, const std::string& package) {
    const auto database = subject.files.at("/var/lib/dpkg");
    const auto result = run_process({"/bin/sh", "-c",
                                     "dpkg-query --admindir=\"$1\" -W -f='${Version}' \"$2\" "
                                     "2>/dev/null || true",
                                     "sh", database.string(), package});
    return result.output;
}

Finding check_archive(const Subject& subject, const fs::path& archive) {
    const auto wanted = package_version(subject.banner);
    const auto series = series_of(subject.release);
    const auto found = installed_version(subject, "linux-source-" + series);
    const bool packaged = archive.parent_path() == subject.files.at("/usr/src");
    if (packaged && !wanted.empty() && !found.empty() && found != wanted) {
        return no(Hinders::kBuild, "source",
                  fmt::format("{} is of package version {}, the kernel of {}", archive.string(),
                              found, wanted),
                  install(source_package(subject)) + ", or boot the newest kernel");
    }
    return ok("source", fmt::format("{}{}", archive.string(),
                                    packaged && !found.empty() ? " (" + found + ")" : ""));
}

// Some shells end with 127, as if they couldn't be run themselves, when there is no such program.
bool has_program(const std::string& program, const ToolRoot& tools) {
    const auto command = "command -v " + program + " >/dev/null || exit 1";
    return run_process({"/bin/sh", "-c", command}, {.root = &tools}).status == 0;
}

}  // namespace

Finding check_headers(const Subject& subject) {
    const auto& kdir = subject.build.kdir;
    const auto advice = subject.running
                            ? install("linux-headers-" + subject.release) +
                                  "; for a kernel of your own, keep the tree that it was built in"
                            : "give --kdir";
    if (!fs::exists(kdir)) {
        return no(Hinders::kBuild, "headers", kdir.string() + " doesn't exist", advice);
    }
    for (const auto* part : {".config", "Module.symvers", "Makefile"}) {
        if (fs::exists(kdir / part)) continue;
        return no(Hinders::kBuild, "headers",
                  fmt::format("{} has no {}, so no module can be built", kdir.string(), part),
                  fs::exists(kdir / "kernel/sched/fair.c")
                      ? "build the kernel and its modules in that tree: make && make modules"
                      : advice);
    }
    const auto release = release_of_headers(kdir);
    if (release != subject.release) {
        return no(Hinders::kBuild, "headers",
                  fmt::format("{} is of kernel {}", kdir.string(),
                              release.empty() ? "no known release" : release),
                  advice);
    }
    return ok("headers", kdir.string());
}

Finding check_source(const Subject& subject) {
    const auto& source = subject.build.source;
    const auto advice = install(source_package(subject)) + ", or give --source";
    if (!fs::exists(source)) {
        return no(Hinders::kBuild, "source", source.string() + " doesn't exist", advice);
    }
    if (!fs::is_directory(source)) return check_archive(subject, source);
    if (!fs::exists(source / "kernel/sched/fair.c")) {
        return no(Hinders::kBuild, "source", source.string() + " has no kernel/sched/fair.c",
                  advice);
    }
    const auto version = version_of_tree(source);
    if (version.empty() || !same_version(version, subject.release)) {
        return no(Hinders::kBuild, "source",
                  fmt::format("{} is of Linux {}", source.string(),
                              version.empty() ? "no known version" : version),
                  advice);
    }
    return ok("source", fmt::format("{} (Linux {})", source.string(), version));
}

Finding check_compiler(const Subject& subject) {
    const auto wanted = subject.config.find("CONFIG_CC_VERSION_TEXT");
    if (wanted == subject.config.end()) {
        return warn("compiler", "which one built the kernel is unknown without its configuration",
                    "the kernel headers bring it");
    }
    if (subject.has("CONFIG_CC_IS_CLANG")) {
        return no(Hinders::kBuild, "compiler", "the kernel was built by " + wanted->second,
                  "build it with gcc: clang's code can't be grafted yet");
    }
    const auto search = find_compiler(wanted->second, subject.build.tools);
    if (!search.program.empty()) return ok("compiler", search.found);
    return no(Hinders::kBuild, "compiler",
              fmt::format("the kernel was built by {}, found: {}", wanted->second, search.found),
              install(search.package) + " in that very version: another one makes other code");
}

Finding check_image(const Subject& subject) {
    if (subject.image_problem.empty()) return ok("image", subject.build.image.string());
    return no(
        Hinders::kBuild, "image", subject.image_problem,
        subject.running ? "if an update replaced it, reboot; else give --image" : "give --image");
}

Finding check_symbols(const Subject& subject) {
    const auto path = subject.build.kallsyms.string();
    if (!fs::exists(path)) {
        return no(Hinders::kBuild, "symbols", path + " doesn't exist",
                  "use a kernel with CONFIG_KALLSYMS_ALL, or give --kallsyms");
    }
    const auto text = read_file(path);
    const auto first = text.substr(0, text.find(' '));
    if (!first.empty() && first.find_first_not_of('0') != std::string::npos) {
        return ok("symbols", path);
    }
    if (text.find_first_not_of("0 \n") == std::string::npos) {
        return no(Hinders::kBuild, "symbols", path + " is empty", "give --kallsyms");
    }
    // The first symbol of some kernels is at 0; an address of 0 for _text is a hidden one.
    const auto at = text.find(" T _text\n");
    if (at == std::string::npos || at < 16 || text.substr(at - 16, 16) != std::string(16, '0')) {
        return ok("symbols", path);
    }
    return warn("symbols", fmt::format("{} hides its addresses from user id {}", path, geteuid()),
                "run as root, or sysctl kernel.kptr_restrict=1");
}

Finding check_coccinelle(const Subject&) {
    const ToolRoot host;  // it runs here, whatever root the compiler is in
    if (!has_program("spatch", host)) {
        return no(Hinders::kBuild, "Coccinelle", "spatch isn't installed", install("coccinelle"));
    }
    const auto version = run_process({"spatch", "--version"}).output;
    return ok("Coccinelle", version.substr(0, version.find(" compiled")));
}

Finding check_make(const Subject& subject) {
    if (has_program("make", subject.build.tools)) return ok("make", "is there");
    return no(Hinders::kBuild, "make", "isn't installed", install("make"));
}

Finding check_module(const Subject& subject) {
    const auto& module = *subject.module;
    if (module.value("name") != kModuleName || module.value("livepatch") != "Y") {
        return no(Hinders::kLoad, "module", module.path + " isn't fairswitch's livepatch",
                  "give the fairswitch.ko that `fairswitch build` made");
    }
    if (module.release() != subject.release) {
        return no(Hinders::kLoad, "module",
                  fmt::format("{} was built for {}", module.path, module.release()),
                  "build it for this kernel: fairswitch build");
    }
    if (!subject.graft) {
        return warn("module", module.path + " is of this release; its package version isn't known",
                    "keep graft.textproto beside it");
    }
    const auto& built_for = subject.graft->kernel();
    if (!subject.build_id.empty() && built_for.build_id() != subject.build_id) {
        return no(Hinders::kLoad, "module",
                  fmt::format("{} was built for the kernel of build-id {}", module.path,
                              built_for.build_id()),
                  "build it for this kernel: fairswitch build");
    }
    return ok("module", module.path + " is built for this very kernel");
}

}  // namespace fairswitch
