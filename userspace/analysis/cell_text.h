// Cells of the tables for a screen, the last one and those on the way.
#pragma once

#include <string>

#include "userspace/analysis/stats.h"

namespace fairswitch {

// A name that doesn't fit keeps its beginning.
std::string cut(const std::string& name, size_t width);

// Of metric_value(): times in us, shares in percent.
std::string value_text(Metric metric, double value);

// "(-12 %)~": ' ' different, '~' not significant, '?' no verdict.
std::string difference_text(const Comparison& comparison);

}  // namespace fairswitch
