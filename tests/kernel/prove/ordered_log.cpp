#include "tests/kernel/prove/ordered_log.h"

#include <algorithm>

#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

std::uint32_t stock_positions(const Header& header) {
    std::uint32_t positions = 0;
    for (const VariantInfo& variant : header.variants()) {
        if (variant.stock_with()) positions |= 1u << variant.index();
    }
    return positions;
}

}  // namespace

OrderedLog read_ordered(const std::string& path) {
    LogReader reader(path);
    OrderedLog log;
    log.header = reader.header();
    model::Record record;
    while (reader.next(record)) {
        const model::Stamp* stamp = model::stamp_of(record);
        if (const auto* swap = std::get_if<model::Swap>(&record)) {
            log.positions[swap->stamp.generation] = swap->positions;
        }
        if (stamp == nullptr || stamp->seq == 0) {
            log.unordered.push_back(record);
        } else {
            log.by_rq[stamp->rq_cpu].push_back(record);
        }
    }
    for (auto& [cpu, records] : log.by_rq) {
        std::ranges::sort(records, {}, [](const model::Record& r) { return stamp_of(r)->seq; });
    }
    log.end = reader.end();
    log.validity = reader.validity();
    return log;
}

std::uint32_t variant_bit(const Header& header, const std::string& id) {
    std::string known;
    for (const VariantInfo& variant : header.variants()) {
        if (variant.id() == id) return 1u << variant.index();
        known += " " + variant.id();
    }
    fail(Exit::kUsage, "the log knows no variant '{}'; it has:{}", id, known);
}

bool stock_is_with(const Header& header, const std::string& id) {
    return (stock_positions(header) & variant_bit(header, id)) != 0;
}

bool is_with(const OrderedLog& log, const model::Stamp& stamp, std::uint32_t bit) {
    const auto found = log.positions.find(stamp.generation);
    const std::uint32_t positions =
        found != log.positions.end() ? found->second : stock_positions(log.header);
    return (positions & bit) != 0;
}

}  // namespace fairswitch::prove
