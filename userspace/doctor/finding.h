// One line of the doctor's screen.
#pragma once

#include <string>
#include <vector>

namespace fairswitch {

enum class Mark { kOk, kWarn, kNo };

// What a finding marked kNo stands in the way of. A module that was built elsewhere for this very
// kernel can be loaded where none can be built.
enum class Hinders { kNothing, kBuild, kLoad };

struct Finding {
    Mark mark = Mark::kOk;
    std::string name;    // what was looked at
    std::string found;   // what was found
    std::string advice;  // what to do; empty if there is nothing to do
    Hinders hinders = Hinders::kNothing;
};

inline Finding ok(std::string name, std::string found) {
    return {Mark::kOk, std::move(name), std::move(found), "", Hinders::kNothing};
}
inline Finding warn(std::string name, std::string found, std::string advice) {
    return {Mark::kWarn, std::move(name), std::move(found), std::move(advice), Hinders::kNothing};
}
inline Finding no(Hinders hinders, std::string name, std::string found, std::string advice) {
    return {Mark::kNo, std::move(name), std::move(found), std::move(advice), hinders};
}

using Findings = std::vector<Finding>;

}  // namespace fairswitch
