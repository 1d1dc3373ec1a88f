// The interval of a difference between two arms, and where it may be printed.
//
// Blocks are the units: samples inside one are correlated in an unknown way, and pairs of blocks
// share what drifts. All is done on the log of the ratio second/first, and told in percent.
//
// Average and shares: log ratio +- t * standard error, t of Student's distribution with pairs - 1
// degrees of freedom, the error from the jackknife that leaves out one pair at a time (Efron &
// Stein 1981, "The jackknife estimate of variance").
//
// Quantiles: of each arm the interval of Woodruff 1952 ("Confidence intervals for medians and other
// position measures"): the share p of samples at or above the quantile has a standard error over
// blocks; the limits of its odds, p/(1-p) exp(+-t error/(p (1-p))), are read back as quantiles. No
// density is estimated, so that it holds where the density has holes. Both are joined to the
// interval of the ratio by MOVER (Zou & Donner 2008, "Construction of confidence limits about
// effect measures"), with the correlation of both arms' block counts, less its standard error
// 1/sqrt(pairs), where that is positive:
//
//     low  = d - sqrt(A^2 + B^2 - 2 r A B)    A = log(q2 / low2)   B = log(high1 / q1)
//     high = d + sqrt(C^2 + D^2 - 2 r C D)    C = log(high2 / q2)  D = log(q1 / low1)
//
// Printed only where simulation (stats_sim_test) shows that it covers in at least 92 of 100 cases:
// at least 20 pairs, at least 50 exceedances in at least 10 blocks of each arm; and for a quantile,
// no cliff near it. The cliff is where the bulk of the samples ends and the late ones begin; a
// quantile there is one or the other by chance. So between 0.41 and 2.5 times the odds of the
// quantile's share neither arm's samples may span more than a factor of 5, and the interval has to
// lie in between.
#pragma once

#include <optional>
#include <vector>

#include "userspace/analysis/stats.h"

namespace fairswitch {

// Nothing where it isn't known to cover; the maximum never has one.
std::optional<Interval> difference_interval(const std::vector<BlockPair>& pairs, Metric metric);

}  // namespace fairswitch
