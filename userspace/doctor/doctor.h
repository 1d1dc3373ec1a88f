// The preflight: can fairswitch work on this kernel, and if not, why and what helps?
#pragma once

#include <filesystem>
#include <string>

#include "userspace/doctor/finding.h"
#include "userspace/doctor/subject.h"

namespace fairswitch {

struct Diagnosis {
    std::string title;
    Findings findings;
    std::string left_out;  // what wasn't looked at, and why; empty if everything was
    bool can_build = false;
    bool can_load = false;
    bool builds = true;  // a module is to be built; else a given one is to be loaded

    bool can_work() const { return can_load && (can_build || !builds); }
};

// `root` is the root of the file system to look in.
Diagnosis diagnose(const DoctorOptions& options, const std::filesystem::path& root = "/");

// The screen: a line for each finding, and the verdict with its reasons at the end.
std::string screen(const Diagnosis& diagnosis);

}  // namespace fairswitch
