// A whole experiment on the made-up machine, and everything that is read out of it.
#pragma once

#include <map>
#include <string>

#include "tests/unit/analysis_stream.h"
#include "userspace/analysis/story.h"
#include "userspace/analysis/table.h"
#include "userspace/analysis/tally.h"

namespace fairswitch::test {

// Twelve rounds of two arms, 60 periods a block and 5 of guard; arm 0 is late in every tenth
// period.
inline Stream experiment() {
    Stream s;
    uint64_t at = 0;
    for (uint64_t block = 0; block < 24; ++block) {
        const uint32_t arm = (block + block / 2) % 2;
        s.swap(arm, kStart + at * kInterval - 500'000);
        for (int i = 0; i < 5; ++i, ++at) s.period(at, Stream::usual(at));
        s.marker(1, block, kStart + at * kInterval - 1000);
        for (int i = 0; i < 60; ++i, ++at)
            s.period(at, arm == 0 && i % 10 == 3 ? 2'500'000 - i : Stream::usual(at));
        s.marker(2, block, kStart + at * kInterval - 1000);
    }
    return s;
}

struct Analysed {
    explicit Analysed(Stream stream)
        : s(std::move(stream)),
          evidence(s.evidence()),
          joined(join(evidence, &s.samples)),
          tally(joined.blocks),
          decisions(measured_pids(joined), windows_of(joined, worst_periods(joined, 5))) {
        for (const model::Record& record : s.records) {
            tally.add(record);
            decisions.add(record);
        }
        decisions.finish();
    }
    Table table() { return build_table({evidence, joined, tally, decisions, names, nullptr}); }

    Stream s;
    Evidence evidence;
    Join joined;
    Tally tally;
    DecisionStore decisions;
    std::map<uint32_t, std::string> names{{0, "stock"}, {1, "dequeue-delayed"}};
};

}  // namespace fairswitch::test
