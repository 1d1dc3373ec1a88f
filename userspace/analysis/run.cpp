#include "userspace/analysis/run.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "userspace/analysis/explain.h"
#include "userspace/analysis/published.h"
#include "userspace/analysis/result.h"
#include "userspace/base/failure.h"
#include "userspace/log/filter_text.h"
#include "userspace/log/reader.h"
#include "userspace/workload/waker_text.h"

namespace fairswitch {
namespace {

constexpr int64_t kLate_ns = 1'000'000;
// Stories cover every late sample of a run for the table of causes; their full windows only the
// worst ones, so that memory stays bounded.
constexpr size_t kMostWindows = 1000;

// The plan knows its blocks even where marks were lost.
std::vector<Block> planned_blocks(const Experiment& plan) {
    std::vector<Block> blocks;
    for (const ExperimentBlock& block : plan.blocks())
        if (block.void_reason().empty()) blocks.push_back({block.number(), block.begin_ns(), block.end_ns(), block.arm()});
    return blocks;
}

// The parts of a log are of several hosts or boots, whose clocks and pids have nothing to do with
// each other.
void check_part(const RunFiles& files, const std::vector<LogPart>& parts) {
    if (files.part == 0 ? parts.size() == 1 : files.part <= parts.size()) return;
    std::string list;
    for (size_t i = 0; i < parts.size(); ++i)
        list += fmt::format("\n  {}: {}", i + 1, describe(parts[i]));
    fail(Exit::kUsage,
         "{} holds {} recordings, which can't be taken together; choose one with --part N:{}",
         files.log, parts.size(), list);
}

// Whether the record handed out last is of the part that is meant.
bool is_meant(const RunFiles& files, const LogReader& reader) {
    return reader.parts().size() == std::max<size_t>(files.part, 1);
}

}  // namespace

Run Run::load(const RunFiles& files, size_t worst, std::optional<SampleId> chosen) {
    Run run;
    if (!files.plan.empty()) run.plan_ = read_plan(files.plan);
    if (run.plan_) run.command_ = CyclicCommand::parse(run.plan_->measure_command());
    run.read_parts_for_join(files);
    if (files.cyclictest_named && run.cyclic_->samples.empty())
        fail(
            Exit::kUsage,
            "{} holds no cyclictest sample; lines like '       0:      12:      57' were expected, "
            "as `cyclictest -v` prints them",
            files.cyclictest);
    const std::vector<CyclicSample>* samples =
        run.cyclic_ && !run.cyclic_->samples.empty() ? &run.cyclic_->samples : nullptr;
    run.join_ = std::make_unique<Join>(
        join(*run.evidence_, samples,
             run.plan_ ? run.covered(planned_blocks(*run.plan_)) : find_blocks(*run.evidence_)));
    run.tally_ = std::make_unique<Tally>(run.join_->blocks);
    run.choose(worst, chosen);
    run.read_log_for_decisions(files);
    run.name_arms();
    return run;
}

// Each part's samples are those of the threads that its own log tells of.
void Run::read_parts_for_join(const RunFiles& files) {
    read_log_for_join(files, files.log);
    read_samples(files.cyclictest, 0);
    for (const ResumedFiles& part : files.resumed) {
        first_thread_ = static_cast<uint32_t>(measured_thread_count(*evidence_));
        read_log_for_join(files, part.log);
        read_samples(part.measure, first_thread_);
    }
}

void Run::read_log_for_join(const RunFiles& files, const std::string& log) {
    const bool first = log == files.log;
    const RunFiles whole;  // of a resumed part, which is one recording
    const RunFiles& wanted = first ? files : whole;
    LogReader reader(log);
    for (model::Record record; reader.next(record);)
        if (is_meant(wanted, reader)) evidence_->add(record);
    evidence_->finish();
    if (first) check_part(files, reader.parts());
    const LogPart& part = reader.parts()[std::max<size_t>(wanted.part, 1) - 1];
    if (first) header_ = part.header;
    part_begin_ns_ = part.header.start_monotonic_ns();
    losses_.add(part.losses);
    const bool last = files.resumed.empty() || log == files.resumed.back().log;
    warn_of_part(part, !last);
    cut_short_ = last && !part.end;
    if (!first) return;
    if (header_.has_trigger())
        warnings_.push_back(
            fmt::format("FLIGHT RECORDING: only windows around wakeups later than {} are in it: counts "
                        "and rates mean nothing",
                        duration_text(static_cast<int64_t>(header_.trigger().latency_ns()))));
    if (header_.has_filter()) warn_of_filter(part.end);
}

// Lost records have a warning of their own; a foreign layout costs nothing but speed. A part that
// was killed has its rings cut at different moments, behind its last whole round: worth a note.
void Run::warn_of_part(const LogPart& part, bool resumed_later) {
    for (size_t i = 0; i < static_cast<size_t>(Badness::kCount); ++i) {
        const auto badness = static_cast<Badness>(i);
        const uint64_t count = part.validity.count(badness);
        if (count == 0 || badness == Badness::kLost || badness == Badness::kForeignLayout) continue;
        const bool of_killing = badness == Badness::kNoEnd || badness == Badness::kTornTail ||
                                badness == Badness::kSequenceGap;
        if (resumed_later && of_killing && !part.end)
            command_.notes.push_back(fmt::format("killed part: {} {}", count, meaning(badness)));
        else
            warnings_.push_back(fmt::format("LOG NOT WHOLE: {} {}", count, meaning(badness)));
    }
}

// Rates and counts of a filtered log are those of a part.
void Run::warn_of_filter(const std::optional<End>& end) {
    uint64_t left_out = 0;
    if (end)
        for (const RingBooks& books : end->rings())
            for (const uint64_t count : books.filtered()) left_out += count;
    warnings_.push_back(fmt::format(
        "filtered: {}: counts and rates are of that part{}", filter_text(header_.filter()),
        end ? fmt::format(", {} records were left out", left_out) : ""));
}

// Of a log that was cut short, the part of the blocks that it covers: rates over whole blocks would
// be too small.
std::vector<Block> Run::covered(std::vector<Block> blocks) {
    if (!cut_short_) return blocks;
    const uint64_t end = evidence_->last_ns() + 1;
    uint64_t part = 0, without = 0;
    for (Block& block : blocks) {
        if (block.end_ns <= end) continue;
        ++(block.begin_ns < end ? part : without);
        block.end_ns = end;
    }
    std::erase_if(blocks, [](const Block& block) { return block.begin_ns >= block.end_ns; });
    if (part + without)
        warnings_.push_back(fmt::format(
            "THE LOG ENDS EARLY: {} blocks are counted in part, {} not at all", part, without));
    return blocks;
}

void Run::read_samples(const std::string& path, uint32_t first_thread) {
    if (path.empty()) {
        if (evidence_->samples().empty()) return;
        cyclic_.emplace();
        for (const model::Sample& sample : evidence_->samples())
            cyclic_->samples.push_back({sample.thread, sample.cycle, sample.latency_ns});
        return;
    }
    std::ifstream in(path);
    if (!in) fail(Exit::kUsage, "cannot read {}", path);
    CyclicOutput own = WakerOutput::is_one(in) ? read_waker(in) : CyclicOutput::parse(in, command_);
    for (CyclicSample& sample : own.samples) sample.thread += first_thread;
    if (!cyclic_) {
        cyclic_ = std::move(own);
        return;
    }
    cyclic_->samples.insert(cyclic_->samples.end(), own.samples.begin(), own.samples.end());
    cyclic_->cycle_gaps += own.cycle_gaps;
    cyclic_->cycle_repeats += own.cycle_repeats;
    if (cyclic_->unparsed_lines == 0) cyclic_->first_unparsed = own.first_unparsed;
    cyclic_->unparsed_lines += own.unparsed_lines;
}

CyclicOutput Run::read_waker(std::istream& in) {
    const WakerOutput waker = WakerOutput::parse(in);
    CyclicOutput out;
    out.unparsed_lines = waker.unparsed_lines;
    out.first_unparsed = waker.first_unparsed;
    for (const WakerSample& sample : waker.samples)
        out.samples.push_back({sample.thread, sample.period, sample.ran_ns - sample.expected_ns,
                               sample.expected_ns});
    if (waker.skipped)
        command_.notes.push_back(fmt::format(
            "the waker came back too late for {} periods, which were skipped", waker.skipped));
    if (waker.dropped)
        warnings_.push_back(
            fmt::format("THE WAKER LOST {} SAMPLES: its printer was kept from running",
                        waker.dropped));
    if (waker.ends.empty())
        command_.notes.push_back("the waker was killed: its last samples were not printed");
    return out;
}

// Of each thread of the last part the last sample that was printed: one period later nothing is
// known of it.
uint64_t Run::whole_until() const {
    std::map<uint32_t, uint64_t> last;
    for (const Period& period : join_->periods)
        if (period.thread >= first_thread_ && period.sample)
            last[period.thread] = static_cast<uint64_t>(period.expected_ns) + join_->interval_ns;
    uint64_t until = evidence_->last_ns();
    if (last.size() < measured_thread_count(*evidence_) - first_thread_ || last.empty()) return 0;
    for (const auto& [thread, moment] : last) until = std::min(until, moment);
    return until < part_begin_ns_ ? 0 : until;
}

void Run::choose(size_t worst, std::optional<SampleId> chosen) {
    worst_ = worst_periods(*join_, std::min(worst, kMostWindows));
    std::vector<size_t> told = worst_;
    if (chosen)
        if (const Period* period = find(*chosen)) told.push_back(period - join_->periods.data());
    decisions_ = std::make_unique<DecisionStore>(measured_pids(*join_), windows_of(*join_, told));
}

void Run::read_log_for_decisions(const RunFiles& files) {
    const auto read = [&](const RunFiles& wanted, const std::string& log) {
        LogReader reader(log);
        tally_->begin_part();
        for (model::Record record; reader.next(record);) {
            if (!is_meant(wanted, reader)) continue;
            tally_->add(record);
            decisions_->add(record);
        }
    };
    read(files, files.log);
    for (const ResumedFiles& part : files.resumed) read({}, part.log);
    decisions_->finish();
}

void Run::name_arms() {
    for (const Arm& arm : header_.arms()) arm_names_[arm.id()] = arm.name();
    if (!plan_) return;
    for (const ExperimentArm& arm : plan_->arms()) arm_names_[arm.id()] = arm.name();
}

std::string Run::arm_name(uint32_t arm) const {
    auto found = arm_names_.find(arm);
    if (found != arm_names_.end()) return found->second;
    return arm == 0 ? "stock" : fmt::format("arm {}", arm);
}

Table Run::table() const {
    TableInput input{*evidence_,  *join_,     *tally_,
                     *decisions_, arm_names_, plan_ ? &*plan_ : nullptr,
                     losses_.total() - evidence_->records_lost()};
    Table table = build_table(input);
    for (const std::string& line : losses_.lines(header_.start_monotonic_ns()))
        table.warnings.push_back(line);
    for (const VariantInfo& variant : header_.variants()) table.variants.push_back(variant.id());
    table.warnings.insert(table.warnings.end(), warnings_.begin(), warnings_.end());
    for (const std::string& note : command_.notes) table.notes.push_back(note);
    if (cyclic_ && cyclic_->cycle_gaps)
        table.notes.push_back(
            fmt::format("cyclictest didn't print {} cycles", cyclic_->cycle_gaps));
    if (cyclic_ && cyclic_->cycle_repeats)
        table.notes.push_back(fmt::format("cyclictest printed {} cycles twice or out of order",
                                          cyclic_->cycle_repeats));
    if (cyclic_ && cyclic_->unparsed_lines)
        table.notes.push_back(
            fmt::format("{} lines of the cyclictest output weren't understood, "
                        "the first: {}",
                        cyclic_->unparsed_lines, printable(cyclic_->first_unparsed)));
    if (plan_) warn_of_blocks(table);
    if (plan_)
        for (const std::string& note : plan_->plan().notes()) table.notes.push_back(note);
    if (cyclic_ && cyclic_->samples.empty())
        table.notes.push_back("the cyclictest output has no single samples (run it with -v)");
    return table;
}

std::string Run::table_text(TableFormat format) const {
    const Table table = this->table();
    if (format == TableFormat::kText)
        return render_text(table) + (plan_ ? published_text(table, plan_->plan()) : "");
    const Result result = make_result(table, plan_ ? plan_->plan().title() : "");
    switch (format) {
        case TableFormat::kMarkdown:
            return render_markdown(result);
        case TableFormat::kCsv:
            return render_csv(result);
        case TableFormat::kJson:
        case TableFormat::kText:
            break;
    }
    return render_json(result);
}

// Void blocks, and what makes the others doubtful.
void Run::warn_of_blocks(Table& table) const {
    uint64_t steal = 0, throttled = 0;
    for (const ExperimentBlock& block : plan_->blocks()) {
        steal += block.steal_ticks();
        throttled += block.throttles() != 0;
        if (!block.void_reason().empty())
            table.warnings.push_back(fmt::format("BLOCK {} OF ROUND {} IS VOID: {}", block.number(),
                                                 block.round() + 1, block.void_reason()));
    }
    // One hundredth of the measured time on one CPU.
    const double seconds = plan_->block_seconds() * plan_->blocks_size();
    if (static_cast<double>(steal) / 100 > seconds / 100)
        table.warnings.push_back(fmt::format(
            "A HYPERVISOR TOOK {:.1f} S OF CPU TIME during the blocks", static_cast<double>(steal) / 100));
    if (throttled)
        table.warnings.push_back(
            fmt::format("CPUS WERE SLOWED FOR HEAT in {} of {} blocks", throttled,
                        plan_->blocks_size()));
}

std::string Run::story(const Period& period) const {
    std::optional<uint64_t> block;
    if (period.block) block = join_->blocks[*period.block].block.number;
    std::string out;
    for (const std::string& line :
         explain(period, *evidence_, *decisions_, arm_name(period.wake.stamp.arm), block))
        out += line + "\n";
    return out;
}

std::string Run::worst_text() const {
    std::string out;
    for (const std::string& warning : warnings_) out += "!! " + warning + "\n";
    if (losses_.total()) out += fmt::format("!! {} RECORDS LOST\n", losses_.total());
    for (const std::string& line : losses_.lines(header_.start_monotonic_ns()))
        out += "!! " + line + "\n";
    uint64_t late = 0, explained = 0;
    for (const Period& period : join_->periods) {
        if (!fate_in_table(period.fate) || period.latency_ns <= kLate_ns) continue;
        ++late;
        explained += cause_explains(cause_of(period, *evidence_, *decisions_));
    }
    out += fmt::format("{} samples above 1 ms, {} explained, {} not. The {} most late:\n\n", late,
                       explained, late - explained, worst_.size());
    for (size_t i = 0; i < worst_.size(); ++i)
        out += fmt::format("#{} ", i + 1) + story(join_->periods[worst_[i]]) + "\n";
    return out;
}

const Period* Run::find(SampleId id) const {
    for (const Period& period : join_->periods)
        if (period.sample && period.thread == id.thread && period.sample->cycle == id.cycle)
            return &period;
    return nullptr;
}

std::string Run::sample_text(SampleId id) const {
    if (const Period* period = find(id)) return story(*period);
    fail(
        Exit::kUsage,
        "no joined sample of thread {} has cycle {}; `fairswitch report` counts what wasn't joined",
        id.thread, id.cycle);
}

}  // namespace fairswitch
