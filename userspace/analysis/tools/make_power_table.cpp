// Writes power_table.inc to standard output; power.h says what it holds. Takes some minutes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "userspace/analysis/power.h"

namespace fairswitch {
namespace {

constexpr size_t kRounds[] = {10, 12, 15, 20, 30, 50, 80, 120};
constexpr double kExceedances[] = {0.25, 0.5, 1, 2, 4, 8, 16};
constexpr size_t kArms = 3;
constexpr size_t kTables = 400;
constexpr size_t kFlips = 2000;
constexpr double kAllButSure = 0.9999;

using Row = std::vector<double>;  // by rounds

// More blocks never see less: what is contrary to that is chance, and is evened out (pool adjacent
// violators).
Row rising(const Row& raw) {
    struct Pool {
        double sum;
        size_t n;
    };
    std::vector<Pool> pools;
    for (double value : raw) {
        pools.push_back({value, 1});
        while (pools.size() > 1) {
            const Pool last = pools.back(), before = pools[pools.size() - 2];
            if (before.sum / before.n <= last.sum / last.n) break;
            pools.pop_back();
            pools.back() = {before.sum + last.sum, before.n + last.n};
        }
    }
    Row out;
    for (const Pool& pool : pools) out.insert(out.end(), pool.n, pool.sum / pool.n);
    return out;
}

PowerPlan plan_of(size_t rounds, double exceedances, TailStructure structure) {
    PowerPlan plan;
    plan.rounds = rounds;
    plan.rate_hz = 1000 * exceedances;
    plan.structure = structure;
    return plan;
}

// One row per number of arms, all from the same simulations.
std::vector<Row> rows_of(double exceedances, TailStructure structure, TailEffect effect) {
    std::vector<Row> rows(kArms);
    bool sure = false;
    for (size_t rounds : kRounds) {
        PowerPlan plan = plan_of(rounds, exceedances, structure);
        std::vector<double> p;
        if (!sure) p = simulate_p(plan, effect, kTables, kFlips, rounds, plan.level());
        for (size_t arms = 1; arms <= kArms; ++arms) {
            plan.compared_arms = arms;
            const auto seen =
                std::count_if(p.begin(), p.end(), [&](double v) { return v < plan.level(); });
            rows[arms - 1].push_back(sure ? 1 : static_cast<double>(seen) / kTables);
        }
        sure = rows.back().back() > kAllButSure;
    }
    return rows;
}

void print_grid() {
    fmt::print("// Written by make_power_table; not to be edited. In thousandths.\n");
    fmt::print("constexpr double kTableRounds[] = {{{}}};\n",
               fmt::join(std::begin(kRounds), std::end(kRounds), ", "));
    fmt::print("constexpr double kTableExceedances[] = {{{}}};\n",
               fmt::join(std::begin(kExceedances), std::end(kExceedances), ", "));
    fmt::print("constexpr size_t kTableArms = {};\n", kArms);
    fmt::print(
        "// [structure: mild, realistic][effect: values, share][arms - 1][exceedances][rounds]\n"
        "constexpr double kPowerTable[2][2][{}][{}][{}] = {{\n",
        kArms, std::size(kExceedances), std::size(kRounds));
}

void print_effect(TailStructure structure, TailEffect effect) {
    std::vector<std::vector<Row>> by_exceedances;
    for (double exceedances : kExceedances)
        by_exceedances.push_back(rows_of(exceedances, structure, effect));
    fmt::print("{{");
    for (size_t arms = 0; arms < kArms; ++arms) {
        fmt::print("{{");
        for (const auto& rows : by_exceedances) {
            Row row = rising(rows[arms]);
            for (double& value : row) value = std::floor(1000 * value + 0.5);
            fmt::print("{{{}}},\n", fmt::join(row, ", "));
        }
        fmt::print("}},\n");
    }
    fmt::print("}},\n");
}

void print_table() {
    print_grid();
    for (TailStructure structure : {kMild, kRealistic}) {
        fmt::print("{{");
        for (TailEffect effect : {TailEffect::kHalvedValues, TailEffect::kHalvedShare})
            print_effect(structure, effect);
        fmt::print("}},\n");
    }
    fmt::print("}};\n");
}

}  // namespace
}  // namespace fairswitch

int main() { fairswitch::print_table(); }
