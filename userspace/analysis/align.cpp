#include "userspace/analysis/align.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <unordered_map>

namespace fairswitch {
namespace {

constexpr int64_t kTruncation_ns = 2000;
constexpr int64_t kFirstBound_ns = 1'000'000;
constexpr int64_t kLeastBound_ns = 50'000;
constexpr double kMisfitCost_ns = 2'000'000;
constexpr size_t kFirstWindow = 64;  // wakeups that the first shift must explain
constexpr size_t kBoundSamples = 512;
constexpr int64_t kSearch = 64;  // cycles around a misfit that a realignment may jump
constexpr int64_t kMostSearch = 16384;
constexpr int64_t kWindow = 32;  // samples that must bear it out
constexpr size_t kUnsure = 16;

// How well a shift explains some samples. Not the size of the residuals tells, but their spread: a
// wrong shift can have small ones, only the right one has equal ones.
class Score {
  public:
    void add(std::optional<int64_t> residual) {
        ++pairs_;
        if (residual) residuals_.push_back(*residual);
    }

    size_t pairs() const { return pairs_; }
    double share() const { return pairs_ ? static_cast<double>(residuals_.size()) / pairs_ : 0; }

    // Mean distance from the median; a misfit costs more than any residual can.
    double cost() {
        if (pairs_ == 0) return kNoCost;
        double sum = static_cast<double>(pairs_ - residuals_.size()) * kMisfitCost_ns;
        if (!residuals_.empty()) {
            auto middle = residuals_.begin() + residuals_.size() / 2;
            std::nth_element(residuals_.begin(), middle, residuals_.end());
            const int64_t median = *middle;
            for (int64_t residual : residuals_) sum += std::llabs(residual - median);
        }
        return sum / static_cast<double>(pairs_);
    }

    // The same of the fitting ones alone.
    double spread() const {
        if (residuals_.empty()) return kNoCost;
        std::vector<int64_t> sorted = residuals_;
        std::sort(sorted.begin(), sorted.end());
        const int64_t median = sorted[sorted.size() / 2];
        // Nine tenths: one preempted sample must not make a stretch look out of step.
        const size_t kept = std::max<size_t>(1, sorted.size() * 9 / 10);
        double sum = 0;
        for (size_t i = 0; i < kept; ++i) sum += std::llabs(sorted[i] - median);
        return sum / static_cast<double>(kept);
    }

    static constexpr double kNoCost = 1e18;

  private:
    size_t pairs_ = 0;
    std::vector<int64_t> residuals_;
};

class Aligner {
  public:
    Aligner(const std::vector<CyclicSample>& samples, const std::vector<WakeFloors>& wakes,
            uint64_t most_lost)
        : samples_(samples),
          wakes_(wakes),
          forward_(std::clamp<int64_t>(static_cast<int64_t>(most_lost) + kSearch, kSearch,
                                       kMostSearch)) {
        for (size_t i = 0; i < samples.size(); ++i) by_cycle_.emplace(samples[i].cycle, i);
    }

    Alignment run() {
        out_.fit.assign(samples_.size(), Fit::kNoWake);
        out_.wake.assign(samples_.size(), 0);
        if (samples_.empty() || wakes_.empty() || !find_shift()) return out_;
        set_bound();
        out_.found = true;
        walk();
        accept_late_reads();
        return out_;
    }

  private:
    // What the sample needed beyond its switch-in; nothing if it contradicts the records.
    std::optional<int64_t> residual(const CyclicSample& sample, size_t wake) const {
        for (auto floor = wakes_[wake].ns.rbegin(); floor != wakes_[wake].ns.rend(); ++floor) {
            int64_t rest = sample.latency_ns - *floor;
            if (rest >= -kTruncation_ns && rest <= bound_) return rest;
        }
        return std::nullopt;
    }

    bool has_wake(int64_t wake) const {
        return wake >= 0 && wake < static_cast<int64_t>(wakes_.size());
    }

    void count(Score& score, const CyclicSample& sample, int64_t wake) const {
        if (!has_wake(wake)) return;
        score.add(residual(sample, wake));
    }

    Score score_first(size_t first, int64_t shift) const {
        Score score;
        const size_t end = std::min(first + kFirstWindow, wakes_.size());
        for (size_t wake = first; wake < end; ++wake) {
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

    // Records may have been lost in the first window: then the next one tells.
    bool find_shift() {
        for (size_t first = 0; first < wakes_.size(); first += kFirstWindow)
            if (find_shift(first)) return true;
        return false;
    }

    bool find_shift(size_t first) {
        const size_t enough = std::min({kFirstWindow, samples_.size(), wakes_.size() - first});
        const auto last = static_cast<int64_t>(samples_.back().cycle);
        double best = Score::kNoCost, second = Score::kNoCost, none = Score::kNoCost;
        for (int64_t shift = -kSearch; shift <= last; ++shift) {
            Score score = score_first(first, shift);
            if (score.pairs() < std::max<size_t>(enough * 3 / 4, 1)) continue;
            const double cost = score.cost();
            if (shift == 0) none = cost;
            if (cost < best) {
                second = best;
                best = cost;
                out_.shift = shift;
            } else if (cost < second) {
                second = cost;
            }
        }
        // Recording usually begins before the program: without a reason against it, no shift.
        if (none <= 1.1 * best + 200) out_.shift = 0;
        out_.ambiguous = second < 1.3 * best + 500;
        const Score found = score_first(first, out_.shift);
        spread_ = found.spread();
        return found.share() >= 0.9;
    }

    void set_bound() {
        std::vector<int64_t> rests;
        for (size_t i = 0; i < samples_.size() && rests.size() < kBoundSamples; ++i) {
            int64_t wake = static_cast<int64_t>(samples_[i].cycle) - out_.shift;
            if (!has_wake(wake)) continue;
            if (auto rest = residual(samples_[i], wake)) rests.push_back(*rest);
        }
        std::sort(rests.begin(), rests.end());
        bound_ = std::clamp(8 * rests[rests.size() * 9 / 10], kLeastBound_ns, kFirstBound_ns);
        out_.bound_ns = bound_;
    }

    struct Realignment {
        size_t first = 0;  // sample from which on it holds
        int64_t shift = 0;
    };

    // The residuals from `first` on are as alike as those that the first shift was found with.
    // Some that fit aren't enough: out of step, half of them do by chance.
    bool alike(const Score& score) const { return score.spread() <= 4 * spread_ + kTruncation_ns; }

    bool in_step(size_t first, int64_t shift) const {
        const Score score = score_from(first, shift);
        return score.share() >= 0.9 || (score.share() >= 0.75 && alike(score));
    }

    // Another shift that the samples a little behind `first` bear out. Between them lie samples
    // whose wakeups were lost.
    std::optional<Realignment> better_shift(size_t first, int64_t shift) const {
        const auto most = static_cast<size_t>(forward_);
        for (size_t skip = 0; skip <= most; skip = std::max<size_t>(4, skip * 2)) {
            const size_t from = first + skip;
            if (from >= samples_.size()) break;
            if (auto other = best_shift_near(from, shift)) return Realignment{from, *other};
        }
        return std::nullopt;
    }

    // Lost wakeups make the shift grow; it falls only where a wakeup brought no sample.
    std::optional<int64_t> best_shift_near(size_t first, int64_t shift) const {
        const size_t window = std::min<size_t>(kWindow, samples_.size() - first);
        std::optional<int64_t> best;
        double least = Score::kNoCost;
        for (int64_t candidate = shift - kSearch; candidate <= shift + forward_; ++candidate) {
            if (candidate == shift) continue;
            Score score = score_from(first, candidate);
            if (score.pairs() < std::max<size_t>(4, window * 3 / 4)) continue;
            const double cost = score.cost();
            if (score.share() < 0.95 || cost >= least || !alike(score)) continue;
            least = cost;
            best = candidate;
        }
        return best;
    }

    bool fits(size_t i, int64_t shift) const {
        int64_t wake = static_cast<int64_t>(samples_[i].cycle) - shift;
        return has_wake(wake) && residual(samples_[i], wake).has_value();
    }

    // The samples just before a misfit may have fitted by chance.
    void doubt_before(size_t misfit) {
        for (size_t i = misfit - std::min(kUnsure, misfit); i < misfit; ++i)
            if (out_.fit[i] != Fit::kNoWake) out_.fit[i] = Fit::kUnsure;
    }

    void realign(size_t first, int64_t shift) {
        ++out_.realigned;
        for (size_t back = 1; back <= std::min(kUnsure, first); ++back) {
            size_t i = first - back;
            if (out_.fit[i] != Fit::kNoWake || !fits(i, shift)) break;
            join(i, shift);
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
        bool lost = false;   // out of step …
        size_t lost_at = 0;  // … since that sample
        size_t next_try = 0;
        for (size_t i = 0; i < samples_.size(); ++i) {
            const bool begun = static_cast<int64_t>(samples_[i].cycle) >= shift;
            if (begun && i >= next_try && (lost || !fits(i, shift))) {
                if (in_step(i, shift)) {
                    if (lost) rejoin(lost_at, i, shift);
                    lost = false;
                } else if (auto other = better_shift(i, shift)) {
                    doubt_before(lost ? lost_at : i);
                    shift = other->shift;
                    i = other->first;
                    realign(i, shift);
                    lost = false;
                } else {
                    if (!lost) lost_at = i;
                    lost = true;
                    next_try = i + kWindow / 4;
                }
            }
            if (!lost) join(i, shift);
        }
        if (lost) doubt_before(lost_at);
    }

    // It was only a bad stretch.
    void rejoin(size_t from, size_t to, int64_t shift) {
        for (size_t i = from; i < to; ++i) join(i, shift);
    }

    // The nearest joined sample in that direction is as many wakeups away as cycles.
    bool in_step_with_neighbour(size_t i, int step) const {
        size_t at = i;
        for (size_t n = 0; n < kUnsure; ++n) {
            at += step;
            if (at >= samples_.size()) return false;
            if (out_.fit[at] != Fit::kJoined) continue;
            return samples_[at].cycle - samples_[i].cycle == out_.wake[at] - out_.wake[i];
        }
        return false;
    }

    // Not before it was switched in, only later than usual, and in step with its neighbours.
    void accept_late_reads() {
        for (size_t i = 0; i < samples_.size(); ++i) {
            if (out_.fit[i] != Fit::kContrary) continue;
            const int64_t floor = wakes_[out_.wake[i]].ns.back();
            if (samples_[i].latency_ns >= floor - kTruncation_ns && in_step_with_neighbour(i, -1) &&
                in_step_with_neighbour(i, 1))
                out_.fit[i] = Fit::kJoined;
        }
    }

    const std::vector<CyclicSample>& samples_;
    const std::vector<WakeFloors>& wakes_;
    const int64_t forward_;
    std::unordered_map<uint64_t, size_t> by_cycle_;
    int64_t bound_ = kFirstBound_ns;
    double spread_ = 0;  // of the residuals that the first shift left
    Alignment out_;
};

}  // namespace

Alignment align(const std::vector<CyclicSample>& samples, const std::vector<WakeFloors>& wakes,
                uint64_t most_lost) {
    return Aligner(samples, wakes, most_lost).run();
}

}  // namespace fairswitch
