// How many independent events a tail's samples stand for.
//
// Late wakeups come in clusters: the extremal index theta is the inverse of their mean size, and
// theta * exceedances is the effective number of clusters. It is estimated from the times between
// exceedances (Ferro & Segers 2003, "Inference for clusters of extreme values"), which needs no
// choice of how far apart two clusters have to be:
//
//     theta = min(1, 2 (sum T)^2 / (n sum T^2))                           if every T <= 2
//     theta = min(1, 2 (sum (T-1))^2 / (n sum (T-1)(T-2)))                else
//
// T are the n distances of neighbouring exceedances in samples, inside one block each.
#pragma once

#include <cstdint>
#include <vector>

namespace fairswitch {

struct Clusters {
    uint64_t exceedances = 0;
    double effective = 0;  // between 1 and `exceedances`; 0 without any
};

// Samples above the threshold, `blocks` each in order of time.
Clusters effective_clusters(const std::vector<const std::vector<int64_t>*>& blocks,
                            int64_t threshold_ns);

}  // namespace fairswitch
