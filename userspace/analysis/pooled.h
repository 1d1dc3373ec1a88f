// A pooled metric of any selection of blocks, fast enough to be asked for every flip of labels.
#pragma once

#include <cstdint>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

class PooledBlocks {
  public:
    explicit PooledBlocks(const std::vector<const std::vector<int64_t>*>& blocks);

    // Of the union of the blocks, `times[b]` copies of block b (0 = left out).
    double value(Metric metric, const std::vector<uint32_t>& times) const;

  private:
    double sum_ratio(const std::vector<double>& per_block,
                     const std::vector<uint32_t>& times) const;
    double quantile(double q, const std::vector<uint32_t>& times) const;
    uint64_t cumulative(size_t stride, const std::vector<uint32_t>& times) const;

    struct Value {
        int64_t ns;
        uint32_t block;
    };
    static constexpr size_t kStride = 64;

    size_t blocks_;
    std::vector<Value> sorted_;
    std::vector<uint32_t> counts_;  // [stride * blocks_ + block]: values before stride * kStride
    std::vector<double> sizes_, sums_, over_[3];
};

}  // namespace fairswitch
