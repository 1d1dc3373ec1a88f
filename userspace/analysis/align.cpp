#include "userspace/analysis/align.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

namespace fairswitch {
namespace {

constexpr int64_t kTruncation_ns = 2000;
constexpr int64_t kFirstBound_ns = 1'000'000;
constexpr int64_t kLeastBound_ns = 50'000;
constexpr int64_t kMisfitCost_ns = 2'000'000;
constexpr size_t kFirstWindow = 512;
constexpr int64_t kSearch = 64;   // cycles around a misfit that a realignment may jump
constexpr int64_t kWindow = 32;   // samples that must bear it out
constexpr size_t kUnsure = 16;

struct Score {
    size_t pairs = 0;
    size_t fits = 0;
    int64_t cost = 0;

    double share() const { return pairs ? static_cast<double>(fits) / pairs : 0; }
    double mean() const { return pairs ? static_cast<double>(cost) / pairs : 1e18; }
};

class Aligner {
  public:
    Aligner(const std::vector<CyclicSample>& samples, const std::vector<WakeFloors>& wakes)
        : samples_(samples), wakes_(wakes) {
        for (size_t i = 0; i < samples.size(); ++i) by_cycle_.emplace(samples[i].cycle, i);
    }

    Alignment run() {
        out_.fit.assign(samples_.size(), Fit::kNoWake);
        out_.wake.assign(samples_.size(), 0);
        if (samples_.empty() || wakes_.empty() || !find_shift()) return out_;
        set_bound();
        out_.found = true;
        walk();
        return out_;
    }

  private:
    // What the sample needed beyond its switch-in; nothing if it contradicts the records.
    std::optional<int64_t> residual(const CyclicSample& sample, size_t wake) const {
        for (auto floor = wakes_[wake].ns.rbegin(); floor != wakes_[wake].ns.rend(); ++floor) {
            int64_t rest = sample.latency_ns - *floor;
            if (rest >= -kTruncation_ns && rest <= bound_) return std::max<int64_t>(rest, 0);
        }
        return std::nullopt;
    }

    bool has_wake(int64_t wake) const {
        return wake >= 0 && wake < static_cast<int64_t>(wakes_.size());
    }

    void count(Score& score, const CyclicSample& sample, int64_t wake) const {
        if (!has_wake(wake)) return;
        ++score.pairs;
        auto rest = residual(sample, wake);
        score.fits += rest.has_value();
        score.cost += rest.value_or(kMisfitCost_ns);
    }

    Score score_first(int64_t shift) const {
        Score score;
        const size_t window = std::min(kFirstWindow, wakes_.size());
        for (size_t wake = 0; wake < window; ++wake) {
            auto found = by_cycle_.find(static_cast<uint64_t>(shift + static_cast<int64_t>(wake)));
            if (found != by_cycle_.end()) count(score, samples_[found->second], wake);
        }
        return score;
    }

    Score score_from(size_t first, int64_t shift) const {
        Score score;
        const size_t end = std::min(samples_.size(), first + kWindow);
        for (size_t i = first; i < end; ++i)
            count(score, samples_[i], static_cast<int64_t>(samples_[i].cycle) - shift);
        return score;
    }

    bool find_shift() {
        const size_t enough = std::min({size_t{64}, samples_.size(), wakes_.size()});
        const auto last = static_cast<int64_t>(samples_.back().cycle);
        Score best, second;
        for (int64_t shift = -kSearch; shift <= last; ++shift) {
            Score score = score_first(shift);
            if (score.pairs < std::max<size_t>(enough / 2, 1)) continue;
            if (score.mean() < best.mean()) {
                second = best;
                best = score;
                out_.shift = shift;
            } else if (score.mean() < second.mean()) {
                second = score;
            }
        }
        out_.ambiguous = second.pairs > 0 && second.mean() < 1.3 * best.mean() + 500;
        return best.share() >= 0.9;
    }

    void set_bound() {
        std::vector<int64_t> rests;
        for (size_t i = 0; i < samples_.size() && rests.size() < kFirstWindow; ++i) {
            int64_t wake = static_cast<int64_t>(samples_[i].cycle) - out_.shift;
            if (!has_wake(wake)) continue;
            if (auto rest = residual(samples_[i], wake)) rests.push_back(*rest);
        }
        std::sort(rests.begin(), rests.end());
        bound_ = std::clamp(8 * rests[rests.size() * 9 / 10], kLeastBound_ns, kFirstBound_ns);
        out_.bound_ns = bound_;
    }

    // Another shift that the samples from `first` bear out while `shift` doesn't.
    std::optional<int64_t> better_shift(size_t first, int64_t shift) const {
        if (score_from(first, shift).share() >= 0.75) return std::nullopt;
        std::optional<int64_t> best;
        double least = std::numeric_limits<double>::max();
        for (int64_t step = 1; step <= kSearch; ++step) {
            for (int64_t candidate : {shift - step, shift + step}) {
                Score score = score_from(first, candidate);
                if (score.pairs < 4 || score.share() < 0.9 || score.mean() >= least) continue;
                least = score.mean();
                best = candidate;
            }
        }
        return best;
    }

    bool fits(size_t i, int64_t shift) const {
        int64_t wake = static_cast<int64_t>(samples_[i].cycle) - shift;
        return has_wake(wake) && residual(samples_[i], wake).has_value();
    }

    void realign(size_t first, int64_t shift) {
        ++out_.realigned;
        for (size_t back = 1; back <= std::min(kUnsure, first); ++back) {
            size_t i = first - back;
            if (out_.fit[i] == Fit::kContrary && fits(i, shift)) join(i, shift);
            if (!fits(i, shift)) break;
            out_.fit[i] = Fit::kUnsure;
        }
    }

    void join(size_t i, int64_t shift) {
        int64_t wake = static_cast<int64_t>(samples_[i].cycle) - shift;
        if (!has_wake(wake)) return;
        out_.wake[i] = static_cast<size_t>(wake);
        out_.fit[i] = residual(samples_[i], wake) ? Fit::kJoined : Fit::kContrary;
    }

    void walk() {
        int64_t shift = out_.shift;
        for (size_t i = 0; i < samples_.size(); ++i) {
            if (!fits(i, shift) && static_cast<int64_t>(samples_[i].cycle) >= shift) {
                if (auto other = better_shift(i, shift)) {
                    shift = *other;
                    realign(i, shift);
                }
            }
            join(i, shift);
        }
    }

    const std::vector<CyclicSample>& samples_;
    const std::vector<WakeFloors>& wakes_;
    std::unordered_map<uint64_t, size_t> by_cycle_;
    int64_t bound_ = kFirstBound_ns;
    Alignment out_;
};

}  // namespace

Alignment align(const std::vector<CyclicSample>& samples, const std::vector<WakeFloors>& wakes) {
    return Aligner(samples, wakes).run();
}

}  // namespace fairswitch
