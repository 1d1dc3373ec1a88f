// When an experiment ends, and what its last table may claim.
//
// A table that is looked at again and again gives a false alarm sooner or later. So every look has
// a share of alpha of its own: alpha_spent(t) is what may be spent up to the information fraction
// t (rounds of those planned, or time of the budget if that is further), and a look's table uses
// what grew since the look before. The false-alarm rates of the looks add up to alpha at most,
// however they depend on each other, so the whole run keeps alpha. (The usual group-sequential
// bounds are less strict, but rest on a normal statistic, which a tail's isn't.)
//
// Spending functions of Lan & DeMets 1983, "Discrete sequential boundaries for clinical trials":
//     O'Brien-Fleming like   2 - 2 Phi(z(1 - alpha/2) / sqrt(t))    little early, most at the end
//     Pocock like            alpha ln(1 + (e - 1) t)                more even
//
// Looks are at `first_look` rounds and then each 1.5 times as far. A run that is neither watched
// nor ended by its data is looked at once, at its end, with all of alpha. That a run ends because
// its rounds or its time are over doesn't depend on the data: then all that is left may be spent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

enum class Spending { kOBrienFleming, kPocock };

double alpha_spent(Spending spending, double alpha, double fraction);

// Until the interval of `metric` is at most `percent` wide (high - low, of every compared arm).
struct NarrowEnough {
    Metric metric = Metric::kP99;
    double percent = 20;
};

struct StopOptions {
    size_t rounds = 20;             // the most
    std::optional<double> seconds;  // of the whole run
    std::optional<NarrowEnough> narrow;
    bool watched = false;  // interim tables are shown
    size_t first_look = kMinPairs;
    Spending spending = Spending::kPocock;
    double alpha = kAlpha;
};

struct RunProgress {
    size_t rounds = 0;  // complete ones
    double seconds = 0;
    const std::vector<std::vector<BlockPair>>* compared = nullptr;  // by arm; needed for `narrow`
};

struct StopAnswer {
    bool stop = false;
    std::string reason;  // for people; empty: go on
    double alpha = 0;    // for the verdicts of a table made now; 0: it must not give any
};

class StopRule {
  public:
    explicit StopRule(const StopOptions& options);

    // To be asked once after every complete round.
    StopAnswer after_round(const RunProgress& progress);
    // The user ended the run. Rounds since the last look count, at what may be spent by now.
    StopAnswer interrupted(const RunProgress& progress);

    double spent() const { return spent_; }

  private:
    double fraction(const RunProgress& progress) const;
    bool has_looks() const { return options_.watched || options_.narrow.has_value(); }
    bool narrow_enough(const RunProgress& progress) const;
    StopAnswer end(const std::string& reason);
    double spend_up_to(double fraction);
    bool time_is_over(const RunProgress& progress) const;

    StopOptions options_;
    size_t next_look_;
    double spent_ = 0;
};

}  // namespace fairswitch
