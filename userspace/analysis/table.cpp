#include "userspace/analysis/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "userspace/analysis/omission.h"

namespace fairswitch {
namespace {

constexpr int64_t kLate_ns = 1'000'000;

std::string arm_name(const std::map<uint32_t, std::string>& names, uint32_t arm) {
    auto found = names.find(arm);
    if (found != names.end()) return found->second;
    return arm == 0 ? "stock" : fmt::format("arm {}", arm);
}

// Arms in the plan's order, else by number: stock is 0.
std::vector<uint32_t> arm_order(const TableInput& input) {
    std::vector<uint32_t> order;
    auto add = [&](uint32_t arm) {
        if (std::find(order.begin(), order.end(), arm) == order.end()) order.push_back(arm);
    };
    if (input.plan)
        for (const ExperimentArm& arm : input.plan->arms()) add(arm.id());
    const size_t planned = order.size();
    for (const BlockResult& block : input.join.blocks) add(block.block.arm);
    std::sort(order.begin() + planned, order.end());
    return order;
}

// Of each thread in each block of an arm, the moments that it was woken for.
std::vector<std::vector<Served>> served_moments(const Join& join, uint32_t arm) {
    std::map<std::pair<size_t, uint32_t>, std::vector<Served>> by_thread;
    for (const Period& period : join.periods) {
        if (!period.block || join.blocks[*period.block].block.arm != arm) continue;
        const bool sampled = fate_in_table(period.fate);
        by_thread[{*period.block, period.pid}].push_back(
            {period.expected_ns, static_cast<int64_t>(sampled ? period.read_ns() : 0), sampled});
    }
    std::vector<std::vector<Served>> out;
    for (auto& [thread, moments] : by_thread) out.push_back(std::move(moments));
    return out;
}

void add_omitted(ArmColumn& column, const Join& join) {
    if (join.count(Fate::kNoRecords)) return;
    for (const auto& moments : served_moments(join, column.arm)) {
        const auto view = with_omitted(moments, static_cast<int64_t>(join.interval_ns));
        column.with_omitted.insert(column.with_omitted.end(), view.latencies.begin(),
                                   view.latencies.end());
        column.omitted_added += view.added;
        column.omitted_unplaced += view.unplaced;
    }
    std::sort(column.with_omitted.begin(), column.with_omitted.end());
}

void add_clusters(ArmColumn& column, const Join& join) {
    std::vector<const std::vector<int64_t>*> blocks;
    for (const BlockResult& result : join.blocks)
        if (result.block.arm == column.arm) blocks.push_back(&result.latencies);
    for (Metric metric :
         {Metric::kP99, Metric::kP999, Metric::kOver1ms, Metric::kOver2ms, Metric::kOver4ms}) {
        const auto threshold = metric_threshold_ns(metric);
        // At the quantile itself and beyond, as the interval counts exceedances.
        const int64_t limit =
            threshold ? *threshold : static_cast<int64_t>(metric_value(column.sorted, metric)) - 1;
        column.clusters[metric] = effective_clusters(blocks, limit);
    }
}

ArmColumn make_column(const TableInput& input, uint32_t arm) {
    ArmColumn column;
    column.arm = arm;
    column.name = arm_name(input.arm_names, arm);
    for (const BlockResult& result : input.join.blocks) {
        if (result.block.arm != arm) continue;
        ++column.blocks;
        column.in_order.insert(column.in_order.end(), result.latencies.begin(),
                               result.latencies.end());
        column.expected += result.expected;
        column.unprinted += result.unprinted;
        column.missed += result.missed();
    }
    column.sorted = column.in_order;
    std::sort(column.sorted.begin(), column.sorted.end());
    add_omitted(column, input.join);
    add_clusters(column, input.join);
    column.counts = input.tally.of(arm);
    if (!input.plan) return column;
    double seconds = 0;
    uint64_t switches = 0;
    for (const ExperimentBlock& block : input.plan->blocks()) {
        if (block.arm() != arm) continue;
        seconds += static_cast<double>(block.end_ns() - block.begin_ns()) / 1e9;
        switches += block.switches();
    }
    if (switches > 0 && seconds > 0) column.switches_per_second = switches / seconds;
    return column;
}

// Which round each block number belongs to.
std::map<uint64_t, uint64_t> rounds_of(const TableInput& input, size_t arms) {
    std::map<uint64_t, uint64_t> rounds;
    if (input.plan && input.plan->blocks_size() > 0) {
        for (const ExperimentBlock& block : input.plan->blocks())
            rounds[block.number()] = block.round();
    } else {
        for (const BlockResult& result : input.join.blocks)
            rounds[result.block.number] = result.block.number / std::max<size_t>(arms, 1);
    }
    return rounds;
}

// Rounds with one block of every arm: only these were randomised as a whole.
std::vector<std::map<uint32_t, const BlockResult*>> whole_rounds(const TableInput& input,
                                                                 size_t arms) {
    const auto round_of = rounds_of(input, arms);
    std::map<uint64_t, std::map<uint32_t, const BlockResult*>> rounds;
    for (const BlockResult& result : input.join.blocks) {
        auto round = round_of.find(result.block.number);
        if (round != round_of.end() && !result.latencies.empty())
            rounds[round->second][result.block.arm] = &result;
    }
    std::vector<std::map<uint32_t, const BlockResult*>> whole;
    for (auto& [number, blocks] : rounds)
        if (blocks.size() == arms) whole.push_back(blocks);
    return whole;
}

// The difference shown is that of the values shown, which are over all blocks; the verdict is over
// whole rounds. They differ only where a run was cut short.
void show_all_blocks(std::vector<Comparison>& rows, const ArmColumn& first,
                     const ArmColumn& second) {
    for (Comparison& row : rows) {
        row.first = metric_value(first.sorted, row.metric);
        row.second = metric_value(second.sorted, row.metric);
        row.percent.reset();
        if (row.first > 0) row.percent = 100 * (row.second - row.first) / row.first;
    }
}

std::string resumed_rounds(const Experiment& plan) {
    std::string list;
    for (int i = 1; i < plan.parts_size(); ++i)
        list += fmt::format("{} {}", i == 1 ? "" : ",", plan.parts(i).first_round() + 1);
    return list;
}

// The last table of a run that ended by its rule has what the rule gave it; any other what is left.
double alpha_of(const Experiment& plan) {
    if (plan.looks().empty()) return kAlpha;
    if (!plan.stop_reason().empty()) return plan.looks().rbegin()->alpha();
    double left = kAlpha;
    for (const Look& look : plan.looks()) left -= look.alpha();
    return std::max(0.0, left);
}

// How it came to its end, where that isn't by its rounds alone.
void tell_of_end(Table& table, const Experiment& plan) {
    if (plan.parts_size() > 1)
        table.notes.push_back("killed and resumed, in round" + resumed_rounds(plan));
    const bool early =
        !plan.looks().empty() && plan.looks().rbegin()->rounds() < plan.rounds_planned();
    if (plan.ended() == "complete" && early)
        table.notes.push_back(fmt::format("ended after {} of {} rounds: {}",
                                          plan.looks().rbegin()->rounds(), plan.rounds_planned(),
                                          plan.stop_reason()));
    if (table.alpha < kAlpha * (1 - 1e-9))
        table.notes.push_back(fmt::format(
            "tables that were made or looked for on the way share the run's 5 %; this one's "
            "verdicts are at {:.2g} %",
            100 * table.alpha));
}

void compare_arms(Table& table, const TableInput& input) {
    if (table.columns.size() < 2) return;
    const auto rounds = whole_rounds(input, table.columns.size());
    table.pairs = rounds.size();
    for (size_t c = 1; c < table.columns.size(); ++c) {
        std::vector<BlockPair> pairs;
        for (const auto& round : rounds)
            pairs.push_back({round.at(table.columns[0].arm)->latencies,
                             round.at(table.columns[c].arm)->latencies});
        table.comparisons.push_back(compare(pairs));
        show_all_blocks(table.comparisons.back(), table.columns[0], table.columns[c]);
    }
    judge(table.comparisons, table.pairs, table.alpha);
}

SwapTimes swap_times(const Evidence& evidence) {
    struct Span {
        uint64_t first, last, delayed;
    };
    std::map<uint64_t, Span> requests;
    for (const model::Swap& swap : evidence.swaps()) {
        if (swap.reason != FSW_SWAP_SET) continue;
        auto [at, fresh] = requests.try_emplace(swap.requested_ns,
                                                Span{swap.stamp.time_ns, swap.stamp.time_ns, 0});
        at->second.first = std::min(at->second.first, swap.stamp.time_ns);
        at->second.last = std::max(at->second.last, swap.stamp.time_ns);
        at->second.delayed += swap.delayed_in_flight;
    }
    SwapTimes times;
    std::vector<uint64_t> lengths;
    for (const auto& [request, span] : requests) {
        lengths.push_back(span.last - std::min(request ? request : span.first, span.first));
        times.delayed_in_flight += span.delayed;
    }
    times.swaps = lengths.size();
    if (lengths.empty()) return times;
    std::sort(lengths.begin(), lengths.end());
    times.longest_ns = lengths.back();
    times.median_ns = lengths[quantile_index(lengths.size(), 0.5)];
    return times;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Latencies that come from the machine and not from its scheduler.
void warn_of_machine(Table& table) {
    uint64_t late = 0, machine = 0;
    for (const ArmColumn& column : table.columns) {
        for (uint64_t count : column.late_causes) late += count;
        if (column.late_causes.empty()) continue;
        for (Cause cause : {Cause::kTimer, Cause::kCpuStalled})
            machine += column.late_causes[static_cast<size_t>(cause)];
    }
    if (late < 20 || machine * 4 < late) return;
    table.warnings.push_back(fmt::format(
        "{} OF {} LATE SAMPLES COME MOSTLY FROM LATE TIMERS OR A CPU THAT STOOD STILL (virtual "
        "CPUs without time, SMIs, host load)",
        machine, late));
}

// The first line of all: the rest is only what there was.
void warn_of_incomplete(Table& table, const TableInput& input) {
    if (!input.plan || input.plan->ended() == "complete") return;
    const std::string& why = input.plan->ended();
    table.warnings.push_back(fmt::format(
        "INCOMPLETE RUN, {} of {} blocks: {}", input.plan->blocks_size(),
        input.plan->rounds_planned() * input.plan->arms_size(),
        why.empty() ? "it never ended properly" : first_line(why)));
}

void add_warnings(Table& table, const TableInput& input) {
    warn_of_incomplete(table, input);
    if (table.records_lost)
        table.warnings.push_back(fmt::format(
            "{} RECORDS LOST: counts below are too small, some samples have no explanation",
            table.records_lost));
    if (table.mixed_records)
        table.warnings.push_back(fmt::format(
            "{} RECORDS OF ANOTHER ARM INSIDE BLOCKS: the arms are mixed", table.mixed_records));
    if (input.join.count(Fate::kArmDiffers))
        table.warnings.push_back(fmt::format("{} samples were woken under another arm",
                                             input.join.count(Fate::kArmDiffers)));
}

}  // namespace

Table build_table(const TableInput& input) {
    Table table;
    table.join = &input.join;
    for (uint32_t arm : arm_order(input)) table.columns.push_back(make_column(input, arm));
    const auto causes = causes_by_arm(input.join, input.evidence, input.decisions, kLate_ns);
    for (ArmColumn& column : table.columns) {
        auto found = causes.find(column.arm);
        if (found != causes.end()) column.late_causes = found->second;
    }
    if (input.plan) table.alpha = alpha_of(*input.plan);
    compare_arms(table, input);
    table.swaps = swap_times(input.evidence);
    table.records_lost = input.evidence.records_lost() + input.lost_untold;
    table.mixed_records = input.tally.mixed();
    table.notes = input.join.notes;
    if (input.plan) table.load = input.plan->load_result();
    if (input.plan) tell_of_end(table, *input.plan);
    add_warnings(table, input);
    warn_of_machine(table);
    return table;
}

}  // namespace fairswitch
