// What a log must show, one proof each. A proof throws Failure (kRunFailed) with the first
// contradiction, and also when the log shows too little to prove anything.
#pragma once

#include "tests/kernel/prove/ordered_log.h"

namespace fairswitch::prove {

// `with`: no kept decision has a delayed entity picked, but where the wakee itself is delayed;
// `without`: some have.
void dequeue_delayed(const OrderedLog& log);

// `with`: no entity is requeued, or leaves, with less than the lag it was delayed with; `without`:
// some are. Entities whose weight, CPU or position changed in between are set aside and counted.
void lag_clamp(const OrderedLog& log);

// `with`: curr's clock is never stale at a requeue; `without`: it sometimes is.
void requeue_clock(const OrderedLog& log);

// Of decisions in which an eligible wakee with a shorter slice wasn't picked: `with` all cancel the
// protection and preempt; `without` all keep.
void cancel_protection(const OrderedLog& log);

// Of preemptions for a shorter slice or over an idle curr, in which curr's entity was the next buddy:
// `with` each drops the hint (or names the wakee); `without` none does.
void short_buddy(const OrderedLog& log);

// Of decisions about a curr that is idle by its groups but not by its policy: `with` the wakee
// preempts it for that; `without` never.
void hierarchical_idle(const OrderedLog& log);

// Each of `cpus` runqueues was decided about.
void every_cpu(const OrderedLog& log, std::uint32_t cpus);

// Each runqueue has a Swap, records in at least two stretches between swaps, and no record whose arm
// or generation isn't that of the last Swap before it.
void swaps(const OrderedLog& log, std::uint32_t cpus);

// produced = stored + lost on every CPU and for every kind, by the End record's books and by the
// records and Losts in the file.
void books(const OrderedLog& log);

// No lag that was read, stored or left behind is beyond what the kernel's own entity_lag() allows
// that entity, nor is any gained while delayed; and each that was read is V - vruntime.
void lag_bounds(const OrderedLog& log);

// Each runqueue has exactly `swaps` asked-for Swaps, and something was decided under each arm that
// the log names.
void every_arm(const OrderedLog& log, std::uint64_t swaps);

// Every decision is told in this detail (full or brief), and there are some; with `brief` nothing
// tells of an entity.
void detail(const OrderedLog& log, const std::string& wanted);

// No record that the header's filter should have left out; some passed, some didn't; sampling keeps
// its rate.
void filter(const OrderedLog& log);

// Of a flight recording: each window has a trigger, whose latency is above what was asked for and
// is that of a Wake and a Switch in it; wakees were decided about; no record lies in between; Losts
// tell of the frozen time.
void flight(const OrderedLog& log);

// The lines of fairswitch:decision in this file, as tracefs prints them, are the decisions of the
// log between the first and the last of them, one for one.
void trace(const OrderedLog& log, const std::string& path);

// Records were lost; Losts tell of each of them, with the time in which nothing of that CPU is here;
// behind the last one records go on, and no sequence number is missing but for the lost.
void losses(const OrderedLog& log);

// Prints how many decisions took each path.
void paths(const OrderedLog& log);

// Prints what each Task record says: pid and niceness.
void tasks(const OrderedLog& log);

}  // namespace fairswitch::prove
