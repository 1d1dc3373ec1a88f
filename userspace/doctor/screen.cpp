#include <fmt/format.h>

#include "userspace/base/wrap.h"
#include "userspace/doctor/doctor.h"

namespace fairswitch {
namespace {

constexpr std::size_t kTextColumn = 24;

const char* word(Mark mark) {
    switch (mark) {
        case Mark::kOk:
            return "ok";
        case Mark::kWarn:
            return "warn";
        case Mark::kNo:
            return "NO";
    }
    return "?";
}

std::string line(const Finding& finding) {
    auto text = fmt::format("{:<5}{:<{}}{}\n", word(finding.mark), finding.name, kTextColumn - 5,
                            wrapped(finding.found, kTextColumn));
    if (!finding.advice.empty()) {
        text +=
            fmt::format("{:{}}-> {}\n", "", kTextColumn - 3, wrapped(finding.advice, kTextColumn));
    }
    return text;
}

std::string reasons(const Diagnosis& diagnosis, Hinders hinders) {
    std::string text;
    for (const auto& finding : diagnosis.findings) {
        if (finding.mark != Mark::kNo || finding.hinders != hinders) continue;
        const auto reason = fmt::format("{}: {}", finding.name, finding.found);
        text += "  " + wrapped(reason, 4) + "\n";
    }
    return text;
}

std::string verdict(const Diagnosis& diagnosis) {
    if (diagnosis.can_work()) {
        return diagnosis.builds ? "fairswitch can work here: fairswitch build, then load\n"
                                : "fairswitch can work here: this module can be loaded\n";
    }
    std::string text;
    if (!diagnosis.can_load) {
        text +=
            "fairswitch can't work on this kernel as it is:\n" + reasons(diagnosis, Hinders::kLoad);
    }
    if (diagnosis.builds && !diagnosis.can_build) {
        text += diagnosis.can_load
                    ? "fairswitch can't be built here, though a module built elsewhere for this "
                      "kernel could be loaded:\n"
                    : "nor can it be built here:\n";
        text += reasons(diagnosis, Hinders::kBuild);
    }
    return text;
}

}  // namespace

std::string screen(const Diagnosis& diagnosis) {
    std::string text = "fairswitch doctor: " + diagnosis.title + "\n\n";
    for (const auto& finding : diagnosis.findings) text += line(finding);
    if (!diagnosis.left_out.empty()) text += "\n" + wrapped(diagnosis.left_out, 0) + "\n";
    return text + "\n" + verdict(diagnosis);
}

}  // namespace fairswitch
