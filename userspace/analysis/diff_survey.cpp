#include <algorithm>

#include "userspace/analysis/diff.h"
#include "userspace/analysis/evidence.h"
#include "userspace/log/losses.h"

namespace fairswitch {
namespace {

// A log that lost more often has its later losses told at the time of the last of these.
constexpr size_t kMostLosses = 4096;

void add_loss(Survey& survey, const model::Lost& lost) {
    if (survey.losses.size() < kMostLosses)
        survey.losses.push_back({lost.first_ns, records_of(lost)});
    else
        survey.losses.back().records += records_of(lost);
}

void add_stamp(Survey& survey, const model::Stamp& stamp) {
    if (survey.first_ns == 0 || stamp.time_ns < survey.first_ns) survey.first_ns = stamp.time_ns;
    survey.last_ns = std::max(survey.last_ns, stamp.time_ns);
    if (stamp.seq == 0) return;
    Survey::Runqueue& runqueue = survey.runqueues[stamp.rq_cpu];
    if (runqueue.first_seq == 0 || stamp.seq < runqueue.first_seq) runqueue.first_seq = stamp.seq;
}

void add_decision(Survey& survey, const model::Decision& decision) {
    ++survey.decisions;
    ++survey.paths[decision.path % survey.paths.size()];
    ++survey.arms[decision.stamp.arm];
    survey.pids.insert(decision.wakee_pid);
    if (decision.stamp.seq) ++survey.runqueues[decision.stamp.rq_cpu].decisions;
}

}  // namespace

Survey survey(const RecordSource& next, int64_t late_ns) {
    Survey survey;
    LateWakeups late(late_ns);
    for (model::Record record; next(record);) {
        if (const model::Stamp* stamp = model::stamp_of(record)) add_stamp(survey, *stamp);
        if (const auto* decision = std::get_if<model::Decision>(&record))
            add_decision(survey, *decision);
        survey.briefs += std::holds_alternative<model::Brief>(record);
        if (const auto* task = std::get_if<model::Task>(&record))
            survey.names[task->pid] = printable(model::text(task->comm));
        if (const auto* lost = std::get_if<model::Lost>(&record)) add_loss(survey, *lost);
        if (std::holds_alternative<model::Wake>(record)) survey.watched = true;
        late.add(record);
    }
    late.finish();
    survey.late_ones = late.list();
    survey.late = late.late();
    survey.wakeups = late.wakeups();
    return survey;
}

uint64_t Survey::decisions_on(uint32_t rq_cpu) const {
    const auto found = runqueues.find(rq_cpu);
    return found == runqueues.end() ? 0 : found->second.decisions;
}

const LateWakeup* Survey::first_late(uint64_t time_ns) const {
    const auto found = late_ones.lower_bound(time_ns);
    return found == late_ones.end() ? nullptr : &found->second;
}

uint64_t Survey::lost_until(uint64_t time_ns) const {
    uint64_t sum = 0;
    for (const Loss& loss : losses)
        if (loss.first_ns <= time_ns) sum += loss.records;
    return sum;
}

}  // namespace fairswitch
