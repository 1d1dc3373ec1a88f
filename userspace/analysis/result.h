// The table in the forms that other programs and mails take.
#pragma once

#include <string>

#include "proto/result.pb.h"
#include "userspace/analysis/table.h"

namespace fairswitch {

Result make_result(const Table& table, const std::string& title);

// JSON of the Result message, field names as in the proto.
std::string render_json(const Result& result);

// A line a cell: arm,row,unit,value,percent,p_adjusted,verdict,percent_low,percent_high. Warnings
// and notes are lines of their own with the arm "warning" or "note".
std::string render_csv(const Result& result);

// A Markdown table that reads well as plain text in a mail: at most 80 columns. Arms that don't fit
// side by side follow in another table beside the first arm.
std::string render_markdown(const Result& result);

}  // namespace fairswitch
