#include "userspace/analysis/bisect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "userspace/analysis/interval.h"
#include "userspace/analysis/pooled.h"
#include "userspace/analysis/stop.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr double kCarriesFrom = 0.75;
constexpr double kCarriesTo = 1.5;
constexpr double kAgree = 0.95;
constexpr size_t kResamples = 200;
constexpr size_t kConfirmations = 2;
constexpr size_t kMostCulprits = 2;
constexpr uint64_t kSeed = 0x626973656374;

SwitchSet joined(const SwitchSet& a, const SwitchSet& b) {
    SwitchSet out;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

// Rounds of several arms, growing.
class Rounds {
  public:
    Rounds(const MeasureArms& measure, std::vector<SwitchSet> arms)
        : measure_(measure), arms_(std::move(arms)), pairs_(arms_.size()) {}

    void run(size_t rounds) {
        const auto fresh = measure_(arms_, rounds);
        for (size_t a = 0; a < arms_.size(); ++a)
            pairs_[a].insert(pairs_[a].end(), fresh.at(a).begin(), fresh.at(a).end());
    }

    size_t size() const { return pairs_[0].size(); }
    const std::vector<SwitchSet>& arms() const { return arms_; }
    const std::vector<BlockPair>& with_base(size_t arm) const { return pairs_[arm]; }

    // Two arms of the same rounds.
    std::vector<BlockPair> between(size_t first, size_t second) const {
        std::vector<BlockPair> out;
        for (size_t r = 0; r < size(); ++r)
            out.push_back({pairs_[first][r].second, pairs_[second][r].second});
        return out;
    }

  private:
    const MeasureArms& measure_;
    std::vector<SwitchSet> arms_;
    std::vector<std::vector<BlockPair>> pairs_;
};

// In how many of 100 bootstrap samples of the rounds an arm carries the change of arm 0.
class Carrying {
  public:
    Carrying(const Rounds& rounds, Metric metric)
        : rounds_(rounds.size()),
          columns_(rounds.arms().size() + 1),
          metric_(metric),
          pooled_(blocks_of(rounds)) {}

    std::vector<double> shares() const {
        std::mt19937_64 random(kSeed);
        std::vector<double> carries(columns_ - 2);
        for (size_t s = 0; s < kResamples; ++s) {
            std::vector<uint32_t> drawn(rounds_);
            for (size_t i = 0; i < rounds_; ++i) ++drawn[random() % rounds_];
            const double base = value(drawn, 0), whole = value(drawn, 1) - base;
            for (size_t a = 2; a < columns_; ++a) {
                const double part = (value(drawn, a) - base) / whole;
                carries[a - 2] += part >= kCarriesFrom && part <= kCarriesTo;
            }
        }
        for (double& share : carries) share /= kResamples;
        return carries;
    }

  private:
    // Column 0 is base, column 1 + n the arm n.
    static std::vector<const std::vector<int64_t>*> blocks_of(const Rounds& rounds) {
        std::vector<const std::vector<int64_t>*> blocks;
        for (size_t r = 0; r < rounds.size(); ++r) {
            blocks.push_back(&rounds.with_base(0)[r].first);
            for (size_t a = 0; a < rounds.arms().size(); ++a)
                blocks.push_back(&rounds.with_base(a)[r].second);
        }
        return blocks;
    }

    double value(const std::vector<uint32_t>& drawn, size_t column) const {
        std::vector<uint32_t> times(rounds_ * columns_);
        for (size_t r = 0; r < rounds_; ++r) times[r * columns_ + column] = drawn[r];
        return pooled_.value(metric_, times);
    }

    size_t rounds_, columns_;
    Metric metric_;
    PooledBlocks pooled_;
};

std::optional<double> percent_of(const std::vector<BlockPair>& pairs, Metric metric) {
    std::vector<int64_t> first, second;
    for (const BlockPair& pair : pairs) {
        first.insert(first.end(), pair.first.begin(), pair.first.end());
        second.insert(second.end(), pair.second.begin(), pair.second.end());
    }
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    const double base = metric_value(first, metric);
    if (base <= 0) return std::nullopt;
    return 100 * (metric_value(second, metric) - base) / base;
}

class Bisection {
  public:
    Bisection(const BisectOptions& options, const MeasureArms& measure)
        : options_(options), measure_(measure) {}

    BisectResult run(size_t switches) {
        step_alpha_ = part() / static_cast<double>(std::max<size_t>(1, bisect_steps(switches)));
        SwitchSet all(switches);
        for (size_t i = 0; i < switches; ++i) all[i] = i;
        if (!detect(all)) return result_;
        const auto found = search(all, {}, kMostCulprits);
        if (!found) {
            result_.answer = undecided_ ? BisectAnswer::kUnconfirmed : BisectAnswer::kNotThese;
            return result_;
        }
        result_.answer = BisectAnswer::kUnconfirmed;
        result_.culprits = *found;
        const bool confirmed = found->size() == 1 ? confirm_one((*found)[0]) : confirm_two(*found);
        if (confirmed) result_.answer = BisectAnswer::kCulprits;
        return result_;
    }

  private:
    double part() const { return options_.error_rate / 3; }

    double test(const std::vector<BlockPair>& pairs) const {
        return flip_test(pairs, options_.metric, options_.flips);
    }

    // Runs a batch, and after it says what may be spent on the look that follows.
    double next_look(Rounds& rounds, double alpha, double& spent) const {
        rounds.run(options_.batch);
        const double done = static_cast<double>(rounds.size()) /
                            static_cast<double>(options_.batch * options_.most_batches);
        const double total = alpha_spent(Spending::kPocock, alpha, done);
        const double now = total - spent;
        spent = total;
        return now;
    }

    bool exhausted(const Rounds& rounds) const {
        return rounds.size() >= options_.batch * options_.most_batches;
    }

    void note(BisectStep::Kind kind, const Rounds& rounds, double level,
              const std::string& conclusion) {
        BisectStep step;
        step.kind = kind;
        step.level = level;
        step.rounds = rounds.size();
        step.conclusion = conclusion;
        for (size_t a = 0; a < rounds.arms().size(); ++a) step.arms.push_back(arm_of(rounds, a));
        result_.rounds += rounds.size();
        result_.steps.push_back(step);
    }

    BisectArm arm_of(const Rounds& rounds, size_t arm) const {
        const auto& pairs = rounds.with_base(arm);
        return {rounds.arms()[arm], percent_of(pairs, options_.metric), test(pairs)};
    }

    bool detect(const SwitchSet& all) {
        Rounds rounds(measure_, {all});
        double spent = 0, level = 0;
        bool seen = false;
        while (!seen && !exhausted(rounds)) {
            level = next_look(rounds, part(), spent);
            seen = test(rounds.with_base(0)) < level;
        }
        note(BisectStep::Kind::kDetect, rounds, level,
             seen ? "all together change it" : "no change is seen");
        return seen;
    }

    // The switches of `suspects` that the change needs, `kept` being on. Nothing: more than `most`.
    std::optional<SwitchSet> search(const SwitchSet& suspects, const SwitchSet& kept, size_t most) {
        if (suspects.size() == 1) return suspects;
        const auto middle = suspects.begin() + static_cast<long>(suspects.size() / 2);
        const SwitchSet one(suspects.begin(), middle), other(middle, suspects.end());
        switch (which_half(suspects, one, other, kept, most)) {
            case Half::kOne:
                return search(one, kept, most);
            case Half::kOther:
                return search(other, kept, most);
            case Half::kNeither:
                break;
        }
        if (most < 2) return std::nullopt;
        const auto needed = search(one, joined(kept, other), most - 1);
        if (!needed) return std::nullopt;
        const auto rest = search(other, joined(kept, *needed), most - needed->size());
        if (!rest) return std::nullopt;
        return joined(*needed, *rest);
    }

    enum class Half { kOne, kOther, kNeither };

    Half which_half(const SwitchSet& suspects, const SwitchSet& one, const SwitchSet& other,
                    const SwitchSet& kept, size_t most) {
        Rounds rounds(measure_, {joined(kept, suspects), joined(kept, one), joined(kept, other)});
        std::vector<double> carries;
        double spent = 0, level = 0;
        bool neither = false;
        do {
            level = next_look(rounds, step_alpha_, spent);
            carries = Carrying(rounds, options_.metric).shares();
            neither = std::max(carries[0], carries[1]) < kAgree &&
                      test(rounds.between(0, 1)) < level && test(rounds.between(0, 2)) < level;
        } while (!neither && !exhausted(rounds) && std::max(carries[0], carries[1]) < kAgree);
        const double likelier = std::max(carries[0], carries[1]);
        // Rather both than the wrong one: the confirmation finds out. But nothing may rest on it.
        const bool maybe = !neither && most > 1 && likelier < 0.5;
        undecided_ = undecided_ || maybe;
        const Half half = neither || maybe           ? Half::kNeither
                          : carries[0] >= carries[1] ? Half::kOne
                                                     : Half::kOther;
        note(BisectStep::Kind::kSearch, rounds, level,
             maybe ? "undecided, taken as if it took both" : conclusion(half));
        return half;
    }

    static std::string conclusion(Half half) {
        if (half == Half::kNeither) return "it takes both halves";
        return half == Half::kOne ? "the first half carries it" : "the second half carries it";
    }

    double confirm_alpha() const { return part() / kConfirmations; }

    void set_effect(const Rounds& rounds, size_t arm) {
        result_.percent = percent_of(rounds.with_base(arm), options_.metric);
        result_.interval = difference_interval(rounds.with_base(arm), options_.metric);
    }

    bool confirm_one(size_t culprit) {
        Rounds rounds(measure_, {{culprit}});
        double spent = 0, level = 0;
        bool confirmed = false;
        while (!confirmed && !exhausted(rounds)) {
            level = next_look(rounds, confirm_alpha(), spent);
            confirmed = test(rounds.with_base(0)) < level;
        }
        note(BisectStep::Kind::kConfirm, rounds, level, confirmed ? "confirmed" : "not confirmed");
        result_.culprits = {culprit};
        set_effect(rounds, 0);
        return confirmed;
    }

    // Both together against base and against either alone. If that isn't seen, but one alone
    // changes it, that one is confirmed in its own right, on blocks of its own.
    bool confirm_two(const SwitchSet& pair) {
        Rounds rounds(measure_, {pair, {pair[0]}, {pair[1]}});
        double spent = 0, level = 0;
        bool confirmed = false;
        while (!confirmed && !exhausted(rounds)) {
            level = next_look(rounds, confirm_alpha(), spent);
            confirmed = test(rounds.with_base(0)) < level && test(rounds.between(1, 0)) < level &&
                        test(rounds.between(2, 0)) < level;
        }
        note(BisectStep::Kind::kConfirm, rounds, level,
             confirmed ? "confirmed: both are needed" : "not confirmed that both are needed");
        result_.alone = {arm_of(rounds, 1), arm_of(rounds, 2)};
        set_effect(rounds, 0);
        if (confirmed) return true;
        const size_t likelier = result_.alone[0].p <= result_.alone[1].p ? 0 : 1;
        if (result_.alone[likelier].p >= options_.error_rate) return false;
        result_.alone.clear();
        return confirm_one(pair[likelier]);
    }

    const BisectOptions& options_;
    const MeasureArms& measure_;
    double step_alpha_ = 0;
    bool undecided_ = false;  // a step of the search had to guess that it takes both halves
    BisectResult result_;
};

}  // namespace

BisectResult bisect(size_t switches, const BisectOptions& options, const MeasureArms& measure) {
    if (switches == 0) fail(Exit::kUsage, "bisect needs at least one switch to look at");
    if (options.metric == Metric::kMaximum)
        fail(Exit::kUsage, "bisect can't go by the maximum, a single sample; name a quantile");
    if (options.batch < kMinPairs || options.most_batches == 0)
        fail(Exit::kUsage, "bisect needs batches of at least {} rounds, and at least one batch",
             kMinPairs);
    if (options.error_rate <= 0 || options.error_rate >= 1)
        fail(Exit::kUsage, "an error rate is between 0 and 1, {} isn't", options.error_rate);
    return Bisection(options, measure).run(switches);
}

// A single cause takes one step per halving; a pair parts once and then takes as many twice.
size_t bisect_steps(size_t switches) {
    return 2 * static_cast<size_t>(std::bit_width(std::max<size_t>(1, switches) - 1));
}

size_t bisect_rounds(size_t switches, const BisectOptions& options) {
    return (1 + bisect_steps(switches) + kConfirmations) * options.batch * options.most_batches;
}

}  // namespace fairswitch
