#include "userspace/analysis/schedule.h"

#include <numeric>
#include <random>
#include <utility>

namespace fairswitch {

std::vector<std::vector<size_t>> draw_order(size_t arms, size_t rounds, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::vector<size_t>> order(rounds);
    for (std::vector<size_t>& round : order) {
        round.resize(arms);
        std::iota(round.begin(), round.end(), 0);
        // std::shuffle's draws differ between libraries; the modulo's bias is below 2^-60.
        for (size_t i = arms; i > 1; --i) std::swap(round[i - 1], round[random() % i]);
    }
    return order;
}

}  // namespace fairswitch
