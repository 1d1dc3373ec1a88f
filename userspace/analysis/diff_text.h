// One screen that says where two runs part and how they go on.
#pragma once

#include <string>
#include <vector>

#include "userspace/analysis/diff.h"

namespace fairswitch {

// What the text needs to know of one log.
struct DiffLog {
    std::string path;
    Header header;
    Validity validity;
    Survey survey;

    // Data behind some point can't be read, or what is there contradicts itself. Records that the
    // kernel dropped, and told of, don't break a log.
    bool broken() const;
};

// Whether the threads that decisions are about are the same ones.
enum class SamePids { kAll, kSome, kNone };
SamePids same_pids(const Survey& a, const Survey& b);

// `forced`: the conditions that differ, when compared all the same.
std::string diff_text(const DiffLog& a, const DiffLog& b, const Diff& diff, int64_t late_ns,
                      const std::vector<std::string>& forced);

}  // namespace fairswitch
