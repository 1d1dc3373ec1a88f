// Latency statistics of one arm and the verdict between two.
//
// Quantiles are nearest-rank on the sorted sample: P(q) is the value at rank ceil(q n), counted
// from 1. It is always a value that occurred. There is no interpolation.
//
// A difference is (arm - first arm) / first arm in percent: negative = smaller than the first arm.
//
// The verdict is a randomisation test over what the experiment randomised, the order inside each
// pair of blocks. The statistic is the absolute difference of the pooled quantile (mean, share):
// all blocks of an arm thrown together. Under "the arms don't differ" each pair could as well have
// carried its labels the other way round, so p is the share of the 2^pairs flips whose statistic
// is at least the observed one: exact up to 16 pairs, above that 65536 random flips with a fixed
// seed, the observed one counted among them. It holds at any correlation between samples.
// The family is every tested row of every arm of a table; Holm's correction goes over all of it.
// The maximum is not tested.
//
// With three and more arms each is compared with the first: given which two places of a round both
// took, who took which is a coin toss, whatever the other arms do. So it is exact there too.
// Ernst 2004, "Permutation methods: a basis for exact inference"; for the random flips Phipson &
// Smyth 2010, "Permutation p-values should never be zero"; Holm 1979, "A simple sequentially
// rejective multiple test procedure".
//
// The interval is a separate estimate: interval.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

enum class Metric { kAverage, kP50, kP90, kP99, kP999, kMaximum, kOver1ms, kOver2ms, kOver4ms };

const char* metric_label(Metric metric);
// As plans and other programs name it: "P99.9", "Above 1 ms".
const char* metric_row(Metric metric);
// Of such a name; nothing if there is none of it.
std::optional<Metric> metric_of_row(std::string_view row);
// For sentences: "P99.9".
const char* metric_name(Metric metric);
bool metric_is_share(Metric metric);
// Of a quantile: its q; of anything else: nothing.
std::optional<double> metric_quantile(Metric metric);
// Of a share: the threshold.
std::optional<int64_t> metric_threshold_ns(Metric metric);
// Every metric, in the order of the table's rows.
const std::vector<Metric>& all_metrics();

// Index of the nearest-rank quantile among n sorted values; n > 0.
size_t quantile_index(size_t n, double q);
// Of sorted values; 0 without values. Times in ns, shares as 0..1.
double metric_value(const std::vector<int64_t>& sorted, Metric metric);

// The latencies of one pair of blocks.
struct BlockPair {
    std::vector<int64_t> first;
    std::vector<int64_t> second;
};

// Of each block that counts, by its round and its arm's id.
using RoundLatencies = std::map<uint32_t, std::map<uint32_t, std::vector<int64_t>>>;
// For each of `arms` but the first, its blocks beside those of the first. A round in which an arm
// lacks its block, for that was void, is left out.
std::vector<std::vector<BlockPair>> paired(const RoundLatencies& rounds,
                                           const std::vector<uint32_t>& arms);

enum class Verdict3 { kDifferent, kSame, kNone };

struct Interval {
    double low = 0;  // difference in percent
    double high = 0;
};

struct Comparison {
    Metric metric = Metric::kAverage;
    double first = 0;
    double second = 0;
    std::optional<double> percent;  // absent: the first is 0
    std::optional<double> p;        // absent: not tested
    double p_adjusted = 1;
    Verdict3 verdict = Verdict3::kNone;
    std::optional<Interval> interval;
};

constexpr size_t kMinPairs = 10;
constexpr size_t kExactPairs = 16;
constexpr size_t kRandomFlips = 65536;
constexpr double kAlpha = 0.05;

// One comparison per metric; p is not yet adjusted and no verdict given.
std::vector<Comparison> compare(const std::vector<BlockPair>& pairs,
                                size_t random_flips = kRandomFlips);

// p of one metric alone.
double flip_test(const std::vector<BlockPair>& pairs, Metric metric,
                 size_t random_flips = kRandomFlips);

// Holm's step-down over everything that was tested; fills p_adjusted and verdict. No verdict where
// `pairs` flips can't give a p small enough for a family of this size. `alpha` is smaller than
// kAlpha where interim tables have spent some of it (stop.h).
void judge(std::vector<std::vector<Comparison>>& family, size_t pairs, double alpha = kAlpha);

// Holm-adjusted p values, in the order given.
std::vector<double> holm(const std::vector<double>& p);

// The smallest p that `pairs` flips can give.
double smallest_p(size_t pairs);

// Rounds without which judge() gives no verdict on a table of that many columns.
uint32_t rounds_for_verdict(size_t columns);

}  // namespace fairswitch
