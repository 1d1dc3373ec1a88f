#include "userspace/doctor/subject.h"

#include <google/protobuf/text_format.h>

#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/device/livepatch.h"
#include "userspace/device/loading.h"
#include "userspace/doctor/rivals.h"
#include "userspace/graft/builder.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/image.h"
#include "userspace/graft/manifest.h"
#include "userspace/graft/process.h"
#include "userspace/graft/variants.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

void read_config(Subject& subject) {
    const auto use = [&subject](const std::string& text) {
        if (subject.config_known || text.empty()) return;
        subject.config = parse_config(text);
        subject.config_known = !subject.config.empty();
    };
    if (const auto file = subject.build.kdir / ".config"; fs::exists(file)) use(read_file(file));
    if (!subject.running) return;
    use(subject.files.read("/boot/config-" + subject.release).text);
    use(subject.files.read("/lib/modules/" + subject.release + "/config").text);
    if (subject.config_known || !subject.files.exists("/proc/config.gz")) return;
    use(run_process({"gzip", "-d", "-c"}, {.stdin_file = subject.files.at("/proc/config.gz")})
            .output);
}

// The running kernel says itself what it is; another one's image does.
void read_identity_of_running(Subject& subject) {
    subject.release = subject.files.first_line("/proc/sys/kernel/osrelease");
    subject.banner = subject.files.first_line("/proc/version");
    subject.build_id = find_build_id(subject.files.read("/sys/kernel/notes").text);
}

void read_image(Subject& subject) {
    if (!fs::exists(subject.build.image)) {
        subject.image_problem = subject.build.image.string() + " doesn't exist";
        return;
    }
    try {
        const auto image = KernelImage::read(subject.build.image, subject.build.out / "image");
        const auto banner = image.banner();
        const auto build_id = image.build_id();
        if (!subject.running) {
            subject.banner = banner;
            subject.build_id = build_id;
        }
        if (banner_release(banner) != subject.release) {
            subject.image_problem = fmt::format("{} is kernel {}", subject.build.image.string(),
                                                banner_release(banner));
        } else if (build_id != subject.build_id) {
            subject.image_problem =
                fmt::format("{} has build-id {}, the running kernel {}",
                            subject.build.image.string(), build_id, subject.build_id);
        }
    } catch (const Failure& failure) {
        subject.image_problem = failure.what();
    }
}

// Of the kernel itself; symbols of modules have their module behind a tab.
std::set<std::string> kernel_symbols(const fs::path& kallsyms) {
    std::set<std::string> names;
    if (!fs::exists(kallsyms)) return names;
    std::istringstream lines(read_file(kallsyms));
    for (std::string address, type, name, rest; lines >> address >> type >> name;) {
        std::getline(lines, rest);
        if (rest.empty()) names.insert(name);
    }
    return names;
}

// Without a transformation: whatever any form of a variant or tap changes, if it is there.
std::set<std::string> functions_to_expect(const Subject& subject) {
    std::set<std::string> functions;
    if (!fs::exists(subject.build.module / "variants")) return functions;
    const auto symbols = kernel_symbols(subject.build.kallsyms);
    for (const auto& name : Transformer(subject.build.module, "").named_functions()) {
        if (symbols.count(name) != 0) functions.insert(name);
    }
    return functions;
}

void use_graft(Subject& subject, Graft graft) {
    subject.functions.clear();
    for (const auto& function : graft.patch_set()) subject.functions.insert(function.name());
    subject.graft = std::move(graft);
}

// `build` leaves the manifest beside the module.
void read_module(Subject& subject, const std::string& path) {
    subject.module = read_module_file(path);
    // Without a manifest: what it has in common with the kernel is what it replaces.
    for (const auto& name : kernel_symbols(subject.build.kallsyms)) {
        if (subject.module->functions.count(name) != 0) subject.functions.insert(name);
    }
    const auto manifest = fs::absolute(path).parent_path() / "graft.textproto";
    Graft graft;
    if (fs::exists(manifest) &&
        google::protobuf::TextFormat::ParseFromString(read_file(manifest), &graft)) {
        use_graft(subject, std::move(graft));
    }
}

}  // namespace

Subject inspect(const DoctorOptions& options, const fs::path& root) {
    Subject subject;
    subject.files = SystemFiles(root);
    subject.build = options.build;
    subject.quick = options.quick;
    subject.build.fill(root);
    if (!subject.build.root.empty()) subject.build.tools = ToolRoot(subject.build.root);
    subject.running = subject.build.running_kernel;
    if (subject.running) {
        read_identity_of_running(subject);
    } else {
        subject.release = release_of_headers(subject.build.kdir);
    }
    read_config(subject);
    if (!options.module.empty()) {
        read_module(subject, options.module);
        return subject;
    }
    read_image(subject);
    subject.functions = loaded_functions(subject);
    if (subject.functions.empty()) subject.functions = functions_to_expect(subject);
    return subject;
}

void examine(Subject& subject) {
    try {
        Builder builder(subject.build, stderr);
        use_graft(subject, make_manifest(builder.examine()));
    } catch (const Failure& failure) {
        subject.examination_problem = failure.what();
    }
}

}  // namespace fairswitch
