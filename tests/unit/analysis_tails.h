// Made-up latencies whose true quantiles and shares are known.
//
// A sample is of the body (log-normal, its level drifting from block to block as AR(1)) or of the
// tail (Pareto, cut off). Late samples come in runs of geometric length whose values resemble each
// other, and how many runs a block gets varies by a gamma factor. The share of late samples and
// the values are drawn so that a single sample's distribution is exactly the mixture
//
//     P(X > x) = share * P(tail > x) + (1 - share) * P(body > x)
//
// whatever the runs, the drift and the variation are: the truth needs no simulation.
#pragma once

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch::test {

struct Tails {
    double body_ns = 60'000;
    double body_sigma = 0.25;
    double drift_sigma = 0.1;  // of the body's level, between blocks
    double drift_ar = 0.8;     // from one block to the next
    double share = 0.01;       // of late samples
    double run = 4;            // mean length of a run of late samples
    double block_cv = 0.5;     // variation of the late share between blocks
    double tail_ns = 800'000;
    double tail_alpha = 2.5;
    double tail_cut_ns = 60e6;

    double tail_above(double x) const {
        if (x <= tail_ns) return 1;
        if (x >= tail_cut_ns) return 0;
        const double end = std::pow(tail_ns / tail_cut_ns, tail_alpha);
        return (std::pow(tail_ns / x, tail_alpha) - end) / (1 - end);
    }

    double above(double x) const {
        const double sigma = std::hypot(body_sigma, drift_sigma);
        const double z = std::log(x / body_ns) / sigma;
        return share * tail_above(x) + (1 - share) * cdf(complement(boost::math::normal(), z));
    }

    double mean() const {
        const double a = tail_alpha, ratio = tail_ns / tail_cut_ns;
        const double tail =
            tail_ns * a / (a - 1) * (1 - std::pow(ratio, a - 1)) / (1 - std::pow(ratio, a));
        const double variance = body_sigma * body_sigma + drift_sigma * drift_sigma;
        return share * tail + (1 - share) * body_ns * std::exp(variance / 2);
    }

    double truth(Metric metric) const {
        if (auto threshold = metric_threshold_ns(metric)) return above(double(*threshold));
        auto q = metric_quantile(metric);
        if (!q) return mean();
        double low = 1, high = tail_cut_ns;
        while (high / low > 1 + 1e-9) {
            const double middle = std::sqrt(low * high);
            (above(middle) > 1 - *q ? low : high) = middle;
        }
        return high;
    }
};

// Draws blocks one after the other; the drift goes on between them.
class TailSource {
  public:
    explicit TailSource(uint64_t seed) : random_(seed) {}

    std::vector<int64_t> block(const Tails& tails, size_t samples) {
        drift_ = tails.drift_ar * drift_ +
                 std::sqrt(1 - tails.drift_ar * tails.drift_ar) * normal_(random_);
        const double level = tails.body_ns * std::exp(tails.drift_sigma * drift_);
        const double share = std::min(0.5, tails.share * variation(tails.block_cv));
        const double enter = share / (tails.run * (1 - share)), leave = 1 / tails.run;
        std::vector<int64_t> out(samples);
        bool late = uniform() < share;
        double rank = uniform();
        for (int64_t& ns : out) {
            ns = int64_t(late ? tail_value(tails, rank)
                              : level * std::exp(tails.body_sigma * normal_(random_)));
            const bool next = late ? uniform() >= leave : uniform() < enter;
            // Inside a run the rank wanders on the circle, which leaves it uniform.
            rank = late && next ? std::fmod(rank + 0.2 * uniform(), 1.0) : uniform();
            late = next;
        }
        return out;
    }

    std::mt19937_64& random() { return random_; }

  private:
    double uniform() { return double(random_() >> 11) * 0x1p-53; }

    double variation(double cv) {
        if (cv <= 0) return 1;
        return std::gamma_distribution<double>(1 / (cv * cv), cv * cv)(random_);
    }

    static double tail_value(const Tails& tails, double rank) {
        const double end = std::pow(tails.tail_ns / tails.tail_cut_ns, tails.tail_alpha);
        return tails.tail_ns * std::pow(end + rank * (1 - end), -1 / tails.tail_alpha);
    }

    std::mt19937_64 random_;
    std::normal_distribution<double> normal_;
    double drift_ = 0;
};

// One round of blocks, one per arm, run in random order as an experiment does.
inline std::vector<std::vector<int64_t>> tail_round(TailSource& source,
                                                    const std::vector<Tails>& arms,
                                                    size_t samples) {
    std::vector<size_t> order(arms.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[source.random()() % i]);
    std::vector<std::vector<int64_t>> blocks(arms.size());
    for (size_t arm : order) blocks[arm] = source.block(arms[arm], samples);
    return blocks;
}

inline std::vector<BlockPair> tail_pairs(TailSource& source, const Tails& first,
                                         const Tails& second, size_t pairs, size_t samples) {
    std::vector<BlockPair> out;
    for (size_t i = 0; i < pairs; ++i) {
        auto blocks = tail_round(source, {first, second}, samples);
        out.push_back({std::move(blocks[0]), std::move(blocks[1])});
    }
    return out;
}

}  // namespace fairswitch::test
