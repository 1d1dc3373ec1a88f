// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/smp.h>

#include "gate.h"
#include "read.h"
#include "ring.h"

#include "fairswitch_variants.h"

DEFINE_PER_CPU(u64, fsw_gates);

/*
 * Who listens. A leaf lock of its own: the trace event comes here with
 * tracepoints_mutex held, which the session takes inside its own lock.
 */
static DEFINE_MUTEX(fsw_listeners_mutex);
static u64 fsw_listeners[FSW_LISTENER_COUNT];
static bool fsw_gates_open;

static struct {
	u32 arm;
	u32 generation;
	u32 positions;
	bool hygiene;
} fsw_in_force;

static const struct fsw_swap_record fsw_swap_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_SWAP, swap, SWAP);

static u64 fsw_word_make(u32 arm, u32 generation, u32 positions)
{
	return (u64)generation << FSW_WORD_GENERATION_SHIFT |
	       (u64)arm << FSW_WORD_ARM_SHIFT | positions;
}

void fsw_gate_init(void)
{
	int cpu;

	fsw_in_force.positions = FSW_STOCK_WORD;
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(fsw_gates, cpu),
			   fsw_word_make(0, 0, FSW_STOCK_WORD));
}

void fsw_gate_status(struct fsw_status *status)
{
	status->arm = fsw_in_force.arm;
	status->generation = fsw_in_force.generation;
	status->positions = fsw_in_force.positions;
}

#if FSW_HYGIENE_NEEDED && defined(FSW_V_LAG_CLAMP)
static u32 fsw_zero_lag(struct sched_entity *se)
{
	if (!se || !se->sched_delayed)
		return 0;
	se->vlag = 0;
	return 1;
}

/* Delayed entities stay on the tree, except one that is still running. */
static u32 fsw_zero_lags_of(struct cfs_rq *cfs_rq)
{
	struct rb_node *node;
	u32 zeroed = fsw_zero_lag(cfs_rq->curr);

	for (node = rb_first_cached(&cfs_rq->tasks_timeline); node;
	     node = rb_next(node))
		zeroed += fsw_zero_lag(rb_entry(node, struct sched_entity,
						run_node));
	return zeroed;
}

/*
 * From here on vlag of a delayed entity is a stored lag or 0. Throttled
 * cfs_rqs are on no list of the runqueue, so all groups are walked: bounded by
 * the number of groups, once per session that uses lag-clamp.
 */
static u32 fsw_zero_lags(struct rq *rq)
{
	struct task_group *tg;
	u32 zeroed = 0;

#ifdef CONFIG_FAIR_GROUP_SCHED
	rcu_read_lock();
	list_for_each_entry_rcu(tg, &task_groups, list)
		if (tg->cfs_rq && tg->cfs_rq[cpu_of(rq)])
			zeroed += fsw_zero_lags_of(tg->cfs_rq[cpu_of(rq)]);
	rcu_read_unlock();
#else
	zeroed = fsw_zero_lags_of(&rq->cfs);
#endif
	return zeroed;
}
#else
static u32 fsw_zero_lags(struct rq *rq)
{
	return 0;
}
#endif

static void fsw_record_swap(struct rq *rq, const struct fsw_set *set,
			    enum fsw_swap_reason reason, u64 old, u32 delayed,
			    u32 zeroed)
{
	struct fsw_swap_record record = fsw_swap_template;
	struct fsw_swap *swap = &record.body;

	swap->stamp.time_ns = ktime_get_mono_fast_ns();
	swap->old_arm = fsw_word_arm(old);
	swap->old_generation = fsw_word_generation(old);
	swap->positions = set->positions;
	swap->reason = reason;
	swap->requested_ns = set->begin_ns;
	swap->delayed_in_flight = delayed;
	swap->lags_zeroed = zeroed;
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_SWAP, cpu_of(rq),
			 true);
}

/* Under the runqueue's lock: the whole of a swap on one CPU. */
static void fsw_swap_locked(struct rq *rq, struct fsw_set *set,
			    enum fsw_swap_reason reason, bool hygiene)
{
	u64 *word = &per_cpu(fsw_gates, cpu_of(rq));
	u64 old = *word;
	u64 new = fsw_word_make(set->arm, set->generation, set->positions) |
		  (old & FSW_WORD_LISTENING);
	u32 delayed = rq->cfs.h_nr_queued - rq->cfs.h_nr_runnable;
	u32 zeroed = 0;

	if (hygiene) {
		if (!(old & FSW_WORD_HYGIENE))
			zeroed = fsw_zero_lags(rq);
		new |= FSW_WORD_HYGIENE;
	}
	WRITE_ONCE(*word, new);
	set->delayed_in_flight += delayed;
	if (new & FSW_WORD_LISTENING)
		fsw_record_swap(rq, set, reason, old, delayed, zeroed);
}

/* On from the first arm that turns lag-clamp until the session's end. */
static bool fsw_wants_hygiene(const struct fsw_set *set,
			      enum fsw_swap_reason reason)
{
#if FSW_HYGIENE_NEEDED && defined(FSW_V_LAG_CLAMP)
	if (reason != FSW_SWAP_SET)
		return false;
	return fsw_in_force.hygiene ||
	       (set->positions ^ FSW_STOCK_WORD) & BIT(FSW_V_LAG_CLAMP);
#else
	return false;
#endif
}

void fsw_gate_swap(struct fsw_set *set, enum fsw_swap_reason reason)
{
	bool hygiene = fsw_wants_hygiene(set, reason);
	unsigned long flags;
	int cpu;

	set->generation = fsw_in_force.generation + 1;
	set->delayed_in_flight = 0;
	set->begin_ns = ktime_get_mono_fast_ns();
	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		raw_spin_rq_lock_irqsave(rq, flags);
		fsw_swap_locked(rq, set, reason, hygiene);
		raw_spin_rq_unlock_irqrestore(rq, flags);
	}
	set->end_ns = ktime_get_mono_fast_ns();
	fsw_in_force.arm = set->arm;
	fsw_in_force.generation = set->generation;
	fsw_in_force.positions = set->positions;
	fsw_in_force.hygiene = hygiene;
}

static void fsw_gate_tell(void)
{
	u64 wanted = 0;
	unsigned long flags;
	int cpu, i;

	lockdep_assert_held(&fsw_listeners_mutex);
	for (i = 0; i < FSW_LISTENER_COUNT; i++)
		wanted |= fsw_gates_open ? fsw_listeners[i] : 0;
	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);
		u64 *word = &per_cpu(fsw_gates, cpu);

		raw_spin_rq_lock_irqsave(rq, flags);
		WRITE_ONCE(*word, (*word & ~FSW_WORD_LISTENING) | wanted);
		raw_spin_rq_unlock_irqrestore(rq, flags);
	}
}

void fsw_gate_listen(enum fsw_listener listener, u64 wanted)
{
	mutex_lock(&fsw_listeners_mutex);
	fsw_listeners[listener] = wanted;
	fsw_gate_tell();
	mutex_unlock(&fsw_listeners_mutex);
}

void fsw_gate_open(bool open)
{
	mutex_lock(&fsw_listeners_mutex);
	fsw_gates_open = open;
	fsw_gate_tell();
	mutex_unlock(&fsw_listeners_mutex);
}
