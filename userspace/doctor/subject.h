// What the doctor looks at: a kernel, and the machine if the kernel runs on it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "proto/graft.pb.h"
#include "userspace/device/module_file.h"
#include "userspace/doctor/system_files.h"
#include "userspace/graft/locate.h"

namespace fairswitch {

struct DoctorOptions {
    BuildOptions build;
    std::string module;  // fairswitch.ko that is built already; empty: one is to be built
    bool quick = false;  // leave out what compiles fair.c
};

struct Subject {
    SystemFiles files;
    BuildOptions build;   // completed
    bool running = true;  // the kernel is the one that runs here
    bool quick = false;
    std::string release;
    std::string banner;    // "Linux version …"; empty if the kernel isn't there to say it
    std::string build_id;  // hex; likewise
    std::map<std::string, std::string> config;
    bool config_known = false;
    std::string image_problem;  // why the image can't be used; empty if it can or wasn't read
    std::optional<ModuleFile> module;
    // What a build found, this one's or that of the given module's manifest.
    std::optional<Graft> graft;
    std::string examination_problem;  // why fair.c couldn't be examined
    // Functions that are, or in a quick look may be, replaced.
    std::set<std::string> functions;

    bool has(const std::string& setting) const {
        const auto found = config.find(setting);
        return found != config.end() && found->second == "y";
    }
    bool builds() const { return !module.has_value(); }
};

// Collects what can be had without compiling; what is missing stays empty. `root` is the root of
// the file system to look in.
Subject inspect(const DoctorOptions& options, const std::filesystem::path& root = "/");

// Transforms and compiles fair.c, with lines of progress on stderr.
void examine(Subject& subject);

}  // namespace fairswitch
