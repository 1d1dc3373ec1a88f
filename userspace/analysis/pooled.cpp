#include "userspace/analysis/pooled.h"

#include <algorithm>
#include <cmath>

namespace fairswitch {
namespace {

constexpr Metric kShares[] = {Metric::kOver1ms, Metric::kOver2ms, Metric::kOver4ms};

}  // namespace

PooledBlocks::PooledBlocks(const std::vector<const std::vector<int64_t>*>& blocks)
    : blocks_(blocks.size()), sizes_(blocks.size()), sums_(blocks.size()) {
    for (auto& over : over_) over.resize(blocks_);
    for (uint32_t b = 0; b < blocks_; ++b) {
        sizes_[b] = static_cast<double>(blocks[b]->size());
        for (int64_t ns : *blocks[b]) {
            sorted_.push_back({ns, b});
            sums_[b] += static_cast<double>(ns);
            for (size_t t = 0; t < 3; ++t) over_[t][b] += ns > *metric_threshold_ns(kShares[t]);
        }
    }
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Value& a, const Value& b) { return a.ns < b.ns; });
    std::vector<uint32_t> running(blocks_);
    for (size_t i = 0; i < sorted_.size(); ++i) {
        if (i % kStride == 0) counts_.insert(counts_.end(), running.begin(), running.end());
        ++running[sorted_[i].block];
    }
}

double PooledBlocks::sum_ratio(const std::vector<double>& per_block,
                               const std::vector<uint32_t>& times) const {
    double sum = 0, n = 0;
    for (size_t b = 0; b < blocks_; ++b) {
        sum += per_block[b] * times[b];
        n += sizes_[b] * times[b];
    }
    return n > 0 ? sum / n : 0;
}

uint64_t PooledBlocks::cumulative(size_t stride, const std::vector<uint32_t>& times) const {
    uint64_t sum = 0;
    for (size_t b = 0; b < blocks_; ++b)
        sum += static_cast<uint64_t>(counts_[stride * blocks_ + b]) * times[b];
    return sum;
}

double PooledBlocks::quantile(double q, const std::vector<uint32_t>& times) const {
    uint64_t n = 0;
    for (size_t b = 0; b < blocks_; ++b) n += static_cast<uint64_t>(sizes_[b]) * times[b];
    if (n == 0) return 0;
    const uint64_t rank = quantile_index(n, q) + 1;
    // The last stride before which fewer than `rank` values lie.
    size_t low = 0, high = counts_.size() / blocks_;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        (cumulative(middle, times) < rank ? low : high) = middle;
    }
    uint64_t before = cumulative(low, times);
    for (size_t i = low * kStride; i < sorted_.size(); ++i) {
        before += times[sorted_[i].block];
        if (before >= rank) return static_cast<double>(sorted_[i].ns);
    }
    return static_cast<double>(sorted_.back().ns);
}

double PooledBlocks::value(Metric metric, const std::vector<uint32_t>& times) const {
    switch (metric) {
        case Metric::kAverage:
            return sum_ratio(sums_, times);
        case Metric::kOver1ms:
            return sum_ratio(over_[0], times);
        case Metric::kOver2ms:
            return sum_ratio(over_[1], times);
        case Metric::kOver4ms:
            return sum_ratio(over_[2], times);
        case Metric::kMaximum:
            return quantile(1.0, times);
        default:
            return quantile(*metric_quantile(metric), times);
    }
}

}  // namespace fairswitch
