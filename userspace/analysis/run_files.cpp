#include "userspace/analysis/run_files.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::string existing(const fs::path& path) { return fs::exists(path) ? path.string() : ""; }

// Numbers of the logs besides the first. One may be missing: killed before it had begun.
std::vector<uint32_t> resumed_parts(const std::string& folder) {
    std::vector<uint32_t> parts;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        uint32_t part = 0;
        if (std::sscanf(name.c_str(), "run-%u.fsl", &part) == 1 && name == part_file("run.fsl", part))
            parts.push_back(part);
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

}  // namespace

RunFiles RunFiles::find(const std::string& path, const std::string& cyclictest) {
    RunFiles files;
    if (fs::is_directory(path)) {
        files.log = existing(fs::path(path) / "run.fsl");
        if (files.log.empty())
            fail(Exit::kUsage,
                 "{} holds no run.fsl; give a directory written by `fairswitch ab` or a log", path);
        files.cyclictest = existing(fs::path(path) / "measure.txt");
        files.plan = existing(fs::path(path) / "plan.textproto");
        for (const uint32_t part : resumed_parts(path))
            files.resumed.push_back({(fs::path(path) / part_file("run.fsl", part)).string(),
                                     existing(fs::path(path) / part_file("measure.txt", part))});
    } else {
        if (!fs::exists(path))
            fail(Exit::kUsage, "there is no {}; give a run's directory or a log (*.fsl)", path);
        files.log = path;
    }
    if (!cyclictest.empty()) {
        if (!fs::exists(cyclictest)) fail(Exit::kUsage, "there is no {}", cyclictest);
        files.cyclictest = cyclictest;
        files.cyclictest_named = true;
    }
    return files;
}

std::string part_file(const std::string& name, uint32_t part) {
    if (part < 2) return name;
    const fs::path path(name);
    return fmt::format("{}-{}{}", path.stem().string(), part, path.extension().string());
}

Experiment read_plan(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    Experiment plan;
    if (!in || !google::protobuf::TextFormat::ParseFromString(text.str(), &plan))
        fail(Exit::kRunFailed,
             "{} is no plan (protobuf text of fairswitch.Experiment); remove it to go by the log "
             "alone",
             path);
    return plan;
}

void write_plan(const std::string& path, const Experiment& plan) {
    write_text_proto(path + ".new", "fairswitch.Experiment", plan);
    std::error_code error;
    fs::rename(path + ".new", path, error);
    if (error) fail(Exit::kRunFailed, "cannot replace {}: {}", path, error.message());
}

void write_text_proto(const std::string& path, const std::string& type,
                      const google::protobuf::Message& message) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(message, &text);
    std::ofstream out(path, std::ios::trunc);
    out << "# proto-file: proto/experiment.proto\n# proto-message: " << type << "\n" << text;
    out.flush();
    if (!out) fail(Exit::kRunFailed, "cannot write {}: is the disk full?", path);
}

}  // namespace fairswitch
