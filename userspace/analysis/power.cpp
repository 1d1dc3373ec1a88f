#include "userspace/analysis/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace fairswitch {
namespace {

#include "userspace/analysis/power_table.inc"

constexpr double kLimit_ms = 1;  // P99.9 of the base
constexpr double kTail_ms = 0.4;
constexpr double kBody_ms = 0.1;
constexpr double kExponent = 2;
constexpr double kWander = 0.2;  // of a value's rank inside a run
constexpr double kEnoughPower = 0.8;

struct Late {
    double ms;
    uint32_t block;
};

// Late samples of blocks 0, 1 (round 0: base, other), 2, 3 (round 1), …
class MadeUp {
  public:
    MadeUp(const PowerPlan& plan, TailEffect effect, uint64_t seed)
        : plan_(plan), effect_(effect), random_(seed) {}

    std::vector<Late> table() {
        std::vector<Late> late;
        for (uint32_t b = 0; b < 2 * plan_.rounds; ++b) block(b, late);
        return late;
    }

  private:
    void block(uint32_t number, std::vector<Late>& late) {
        const bool changed = number % 2 == 1;
        const double share = std::pow(kLimit_ms / kTail_ms, kExponent) / 1000;
        double runs = plan_.samples_per_block() * share * factor() / plan_.structure.run;
        if (changed && effect_ == TailEffect::kHalvedShare) runs /= 2;
        const double scale = changed && effect_ == TailEffect::kHalvedValues ? 0.5 : 1;
        auto left = static_cast<size_t>(std::llround(plan_.samples_per_block()));
        for (int run = std::poisson_distribution<int>(runs)(random_); run > 0 && left; --run) {
            double rank = uniform_(random_);
            const size_t length = std::min(left, run_length());
            left -= length;
            for (size_t i = 0; i < length; ++i) {
                late.push_back({scale * kTail_ms * std::pow(1 - rank, -1 / kExponent), number});
                rank = std::fmod(rank + kWander * uniform_(random_), 1.0);
            }
        }
    }

    double factor() {
        const double cv = plan_.structure.block_cv;
        if (cv <= 0) return 1;
        return std::gamma_distribution<double>(1 / (cv * cv), cv * cv)(random_);
    }

    size_t run_length() {
        if (plan_.structure.run <= 1) return 1;
        return 1 + std::geometric_distribution<size_t>(1 / plan_.structure.run)(random_);
    }

    const PowerPlan& plan_;
    TailEffect effect_;
    std::mt19937_64 random_;
    std::uniform_real_distribution<double> uniform_;
};

using Arms = std::vector<uint8_t>;  // of each block

// |difference| of the row that tells the effect, for any labels.
class Row {
  public:
    Row(std::vector<Late> late, const PowerPlan& plan, TailEffect effect)
        : late_(std::move(late)), over_(2 * plan.rounds), effect_(effect) {
        std::sort(late_.begin(), late_.end(),
                  [](const Late& a, const Late& b) { return a.ms > b.ms; });
        for (const Late& sample : late_) over_[sample.block] += sample.ms > kLimit_ms;
        const auto arm = std::max<size_t>(
            1, static_cast<size_t>(std::llround(plan.samples_per_block() * plan.rounds)));
        rank_ = static_cast<uint32_t>(arm - quantile_index(arm, 0.999));
    }

    double statistic(const Arms& arms) const {
        return effect_ == TailEffect::kHalvedShare ? of_shares(arms) : of_quantiles(arms);
    }

  private:
    double of_shares(const Arms& arms) const {
        double difference = 0;
        for (size_t b = 0; b < over_.size(); ++b) difference += arms[b] ? over_[b] : -over_[b];
        return std::abs(difference);
    }

    // The rank-th largest sample of either arm, the body's where there are fewer late ones.
    double of_quantiles(const Arms& arms) const {
        uint32_t seen[2] = {0, 0};
        double value[2] = {kBody_ms, kBody_ms};
        for (const Late& sample : late_) {
            const uint8_t arm = arms[sample.block];
            if (++seen[arm] == rank_) value[arm] = sample.ms;
            if (seen[0] >= rank_ && seen[1] >= rank_) break;
        }
        return std::abs(value[0] - value[1]);
    }

    std::vector<Late> late_;
    std::vector<double> over_;  // samples above 1 ms, by block
    TailEffect effect_;
    uint32_t rank_;
};

void label(Arms& arms, size_t pair, bool flipped) {
    arms[2 * pair] = flipped;
    arms[2 * pair + 1] = !flipped;
}

// As flip_tests() of stats.cpp does it, but no further than `give_up`. Of all flips half are
// enough: the mirror image of each has the same statistic.
double flip_p(const Row& row, size_t pairs, size_t random_flips, std::mt19937_64& random,
              double give_up) {
    Arms arms(2 * pairs);
    for (size_t i = 0; i < pairs; ++i) label(arms, i, false);
    const double limit = row.statistic(arms) * (1 - 1e-12);
    const bool exact = pairs <= kExactPowerRounds;
    const size_t flips = exact ? size_t{1} << (pairs - 1) : random_flips;
    size_t reached = 0;
    for (size_t flip = 0; flip < flips; ++flip) {
        for (size_t i = 0; i < pairs; ++i)
            label(arms, i, exact ? (flip >> i) & 1 : flip != 0 && (random() & 1));
        reached += row.statistic(arms) >= limit;
        if (static_cast<double>(reached) > give_up * static_cast<double>(flips)) return 1;
    }
    return static_cast<double>(reached) / static_cast<double>(flips);
}

// Where `value` lies between the points of a rising grid: the lower point and the part of the way.
struct Place {
    size_t low = 0;
    double part = 0;
};

template <size_t N>
std::optional<Place> place(const double (&grid)[N], double value) {
    if (value < grid[0] || value > grid[N - 1]) return std::nullopt;
    size_t low = 0;
    while (low + 2 < N && grid[low + 1] <= value) ++low;
    return Place{low, std::log(value / grid[low]) / std::log(grid[low + 1] / grid[low])};
}

double between(double low, double high, double part) { return low + (high - low) * part; }

struct Outlook {
    size_t rounds = 0;
    double power = 0;
};

std::string power_text(const Power& power) {
    const char* bound = power.bound == Bound::kAtLeast  ? "at least "
                        : power.bound == Bound::kAtMost ? "at most "
                                                        : "";
    return fmt::format("{}{:.2f}", bound, power.value);
}

// The first further number of rounds with enough power, else the most that was asked.
Outlook further(PowerPlan plan) {
    Outlook outlook;
    for (double rounds : kTableRounds) {
        if (rounds <= static_cast<double>(plan.rounds)) continue;
        PowerPlan more = plan;
        more.rounds = static_cast<size_t>(rounds);
        outlook = {more.rounds, power(more, TailEffect::kHalvedValues).value};
        if (outlook.power >= kEnoughPower) break;
    }
    return outlook;
}

}  // namespace

double PowerPlan::level() const {
    const size_t tested = all_metrics().size() - 1;  // not the maximum
    return kAlpha / static_cast<double>(tested * std::max<size_t>(1, compared_arms));
}

std::vector<double> simulate_p(const PowerPlan& plan, TailEffect effect, size_t tables,
                               size_t flips, uint64_t seed, double give_up) {
    MadeUp source(plan, effect, seed);
    std::mt19937_64 random(seed + 1);
    std::vector<double> out;
    for (size_t t = 0; t < tables; ++t) {
        const Row row(source.table(), plan, effect);
        out.push_back(flip_p(row, plan.rounds, flips, random, give_up));
    }
    return out;
}

double simulate_power(const PowerPlan& plan, TailEffect effect, size_t tables, size_t flips,
                      uint64_t seed) {
    if (plan.rounds < kMinPairs || tables == 0) return 0;
    const auto p = simulate_p(plan, effect, tables, flips, seed, plan.level());
    const auto seen = std::count_if(p.begin(), p.end(), [&](double v) { return v < plan.level(); });
    return static_cast<double>(seen) / static_cast<double>(tables);
}

std::optional<double> tabulated_power(const PowerPlan& plan, TailEffect effect) {
    const auto rounds = place(kTableRounds, static_cast<double>(plan.rounds));
    const auto exceedances = place(kTableExceedances, plan.exceedances_per_block());
    const bool structured = plan.structure == kMild || plan.structure == kRealistic;
    if (!rounds || !exceedances || !structured || plan.compared_arms < 1 ||
        plan.compared_arms > kTableArms)
        return std::nullopt;
    const auto& grid =
        kPowerTable[plan.structure == kMild ? 0 : 1][effect == TailEffect::kHalvedValues ? 0 : 1]
                   [plan.compared_arms - 1];
    auto row = [&](size_t e) {
        return between(grid[e][rounds->low], grid[e][rounds->low + 1], rounds->part) / 1000;
    };
    return between(row(exceedances->low), row(exceedances->low + 1), exceedances->part);
}

Power power(const PowerPlan& plan, TailEffect effect) {
    PowerPlan inside = plan;
    bool more = false;
    bool less = false;
    const auto keep = [&](double value, double least, double most) {
        less |= value < least;
        more |= value > most;
        return std::clamp(value, least, most);
    };
    inside.rounds = static_cast<size_t>(
        keep(static_cast<double>(plan.rounds), kTableRounds[0], *std::rbegin(kTableRounds)));
    constexpr double kInside = 1e-9;  // of the way, for what rounding does at the edge
    inside.block_seconds = plan.block_seconds / plan.exceedances_per_block() *
                           keep(plan.exceedances_per_block(), kTableExceedances[0] * (1 + kInside),
                                *std::rbegin(kTableExceedances) * (1 - kInside));
    if (plan.compared_arms > kTableArms) {
        inside.compared_arms = kTableArms;
        less = true;
    }
    const auto tabulated = tabulated_power(inside, effect);
    if (!tabulated || (more && less)) return {0, Bound::kUnknown};
    return {*tabulated, more ? Bound::kAtLeast : less ? Bound::kAtMost : Bound::kExact};
}

std::string power_sentence(const PowerPlan& plan) {
    if (plan.rounds < kMinPairs)
        return fmt::format("this plan gives no verdict: it has {} rounds, which take at least {}",
                           plan.rounds, kMinPairs);
    const Power values = power(plan, TailEffect::kHalvedValues);
    if (values.bound == Bound::kUnknown)
        return fmt::format(
            "what this plan can see isn't known: {} rounds of {:.3g} samples, too far from those "
            "that were simulated ({:g} to {:g} rounds of {:g} to {:g})",
            plan.rounds, plan.samples_per_block(), kTableRounds[0], *std::rbegin(kTableRounds),
            1000 * kTableExceedances[0], 1000 * *std::rbegin(kTableExceedances));
    std::string out = fmt::format(
        "this plan sees a halved P99.9 with probability {}, half as many samples above 1 ms "
        "with {}",
        power_text(values), power_text(power(plan, TailEffect::kHalvedShare)));
    if (values.value >= kEnoughPower) return out;
    const Outlook more = further(plan);
    if (more.rounds == 0) return out;
    if (more.power >= kEnoughPower)
        return out +
               fmt::format("; {} rounds would see that P99.9 with {:.2f}", more.rounds, more.power);
    return out +
           fmt::format(
               "; even {} rounds would see that P99.9 with only {:.2f}: make the blocks longer",
               more.rounds, more.power);
}

}  // namespace fairswitch
