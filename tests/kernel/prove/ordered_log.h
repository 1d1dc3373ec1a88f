// A log, each runqueue's records in the order in which its lock was held, with the positions that
// were in force at each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "userspace/log/reader.h"

namespace fairswitch::prove {

struct OrderedLog {
    Header header;
    std::optional<End> end;
    Validity validity;
    std::vector<model::Record> unordered;                        // written without a runqueue's lock
    std::map<std::uint32_t, std::vector<model::Record>> by_rq;  // by Stamp.rq_cpu, in order of seq
    std::map<std::uint32_t, std::uint32_t> positions;           // by generation, from Swap records
};

OrderedLog read_ordered(const std::string& path);

// The bit of a variant. Throws Failure (kUsage) naming those that the log knows.
std::uint32_t variant_bit(const Header& header, const std::string& id);

// Which position the kernel has without fairswitch.
bool stock_is_with(const Header& header, const std::string& id);

// Positions in force for a stamp; what the log begins with is known from its first Swap, if any.
bool is_with(const OrderedLog& log, const model::Stamp& stamp, std::uint32_t bit);

}  // namespace fairswitch::prove
