#include <algorithm>
#include <map>

#include "proto/record.pb.h"
#include "userspace/analysis/join.h"

namespace fairswitch {
namespace {

std::vector<Block> marked_blocks(const Evidence& evidence) {
    std::vector<Block> blocks;
    for (const model::Marker& mark : evidence.markers()) {
        if (mark.id == MARKER_BLOCK_BEGIN)
            blocks.push_back({mark.value, mark.stamp.time_ns, 0, mark.stamp.arm});
        if (mark.id == MARKER_BLOCK_END && !blocks.empty() && blocks.back().number == mark.value)
            blocks.back().end_ns = mark.stamp.time_ns;
    }
    // A block that never ended was interrupted: its part is not used.
    std::erase_if(blocks, [](const Block& block) { return block.end_ns == 0; });
    return blocks;
}

std::vector<Block> swapped_blocks(const Evidence& evidence) {
    std::vector<Block> blocks;
    uint32_t first = evidence.swaps().empty() ? 0 : evidence.swaps().front().old_arm;
    if (evidence.swaps().empty() && !evidence.wakes().empty())
        first = evidence.wakes().begin()->second.front().stamp.arm;
    blocks.push_back({0, evidence.first_ns(), evidence.last_ns() + 1, first});
    uint64_t request = 0;
    for (const model::Swap& swap : evidence.swaps()) {
        if (blocks.size() > 1 && swap.requested_ns == request) {
            blocks.back().begin_ns = swap.stamp.time_ns;
            continue;
        }
        request = swap.requested_ns;
        blocks.back().end_ns = swap.stamp.time_ns;
        blocks.push_back(
            {blocks.size(), swap.stamp.time_ns, evidence.last_ns() + 1, swap.stamp.arm});
    }
    return blocks;
}

}  // namespace

std::vector<Block> find_blocks(const Evidence& evidence) {
    bool marked = std::any_of(evidence.markers().begin(), evidence.markers().end(),
                              [](const model::Marker& m) { return m.id == MARKER_BLOCK_BEGIN; });
    return marked ? marked_blocks(evidence) : swapped_blocks(evidence);
}

}  // namespace fairswitch
