// The samples that a running `fairswitch waker` has printed so far, by block.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "userspace/workload/waker_text.h"

namespace fairswitch {

class LiveSamples {
  public:
    explicit LiveSamples(const std::string& path);

    // Reads what was printed since the last time; a line that isn't whole yet waits.
    void update();

    // Latencies of the samples whose expected moment lies in [begin, end), in order of printing.
    std::vector<int64_t> between(uint64_t begin_ns, uint64_t end_ns) const;
    // What is before that moment isn't asked for again.
    void forget_before(uint64_t moment_ns);

    uint64_t dropped() const { return dropped_; }

  private:
    std::string path_;
    std::streamoff offset_ = 0;
    std::vector<WakerSample> samples_;
    uint64_t dropped_ = 0;
};

}  // namespace fairswitch
