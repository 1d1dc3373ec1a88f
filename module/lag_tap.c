// SPDX-License-Identifier: GPL-2.0
/* The taps around delayed dequeue: going to sleep, leaving, and waking again. */
#include "filter.h"
#include "gate.h"
#include "lag_tap.h"
#include "read.h"
#include "ring.h"
#include "tap.h"
#include "task.h"

static const struct fsw_requeue_record fsw_requeue_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_REQUEUE, requeue, REQUEUE);
static const struct fsw_delay_record fsw_delay_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_DELAY, delay, DELAY);

/*
 * In the making, on this CPU. They don't nest in themselves or each other. The
 * records have had their tags since the load, and keep them.
 */
struct fsw_lag_scratch {
	struct fsw_requeue_record requeue;
	bool requeue_open;
	u64 stale_before;	/* as seen first, in enqueue or at the requeue's entry */
	struct fsw_delay_record delay;
	bool delay_open;
	bool was_delayed;
	struct fsw_average average;	/* here, for the stack costs more */
};

static struct fsw_lag_scratch __percpu *fsw_lag_scratch;

int fsw_lag_tap_init(void)
{
	int cpu;

	fsw_lag_scratch = alloc_percpu(struct fsw_lag_scratch);
	if (!fsw_lag_scratch)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct fsw_lag_scratch *s = per_cpu_ptr(fsw_lag_scratch, cpu);

		s->requeue = fsw_requeue_template;
		s->delay = fsw_delay_template;
	}
	return 0;
}

void fsw_lag_tap_exit(void)
{
	free_percpu(fsw_lag_scratch);
}

/* Whether vlag of a delayed entity is a stored lag. */
static bool fsw_lag_is_stored(const struct cfs_rq *cfs_rq)
{
	if (!FSW_HYGIENE_NEEDED)
		return true;
	return fsw_word(cpu_of(rq_of((struct cfs_rq *)cfs_rq))) & FSW_WORD_HYGIENE;
}

/* How far curr's accounting is behind the runqueue's clock. */
static u64 fsw_curr_stale(struct cfs_rq *cfs_rq)
{
	s64 stale;

	if (!cfs_rq->curr)
		return 0;
	/* clock_task itself: rq_clock_task() asserts, and a tap may not warn. */
	stale = rq_of(cfs_rq)->clock_task - cfs_rq->curr->exec_start;
	return max(stale, 0LL);
}

static u32 fsw_curr_branches(const struct cfs_rq *cfs_rq,
			     const struct sched_entity *se)
{
	if (!cfs_rq->curr)
		return FSW_LAG_NO_CURR;
	return cfs_rq->curr == se ? FSW_LAG_CURR_IS_ENTITY : 0;
}

static bool fsw_lag_wanted(struct cfs_rq *cfs_rq, const struct sched_entity *se,
			   enum fsw_kind kind)
{
	if (!fsw_ring_wants(kind))
		return false;
	if (fsw_filter_passes_entity(rq_of(cfs_rq), se, kind))
		return true;
	fsw_ring_filtered(kind);
	return false;
}

void __fsw_tap_requeue_enter(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);
	struct fsw_requeue *requeue = &s->requeue.body;

	s->requeue_open = fsw_lag_wanted(cfs_rq, se, FSW_KIND_REQUEUE);
	if (!s->requeue_open)
		return;
	requeue->stamp.time_ns = ktime_get_mono_fast_ns();
	s->average = fsw_average(cfs_rq);
	fsw_read_entity(&requeue->entity, &s->average, cfs_rq, se);
	requeue->lag_stored_ns = 0;
	requeue->lag_before_ns = requeue->entity.lag_ns;
	requeue->curr_stale_ns = 0;
	requeue->branches = fsw_curr_branches(cfs_rq, se);
	requeue->curr_pid = fsw_entity_pid(cfs_rq->curr);
	if (fsw_lag_is_stored(cfs_rq)) {
		requeue->branches |= FSW_LAG_STORED_VALID;
		requeue->lag_stored_ns = se->vlag;
	}
	s->stale_before = max(s->stale_before, fsw_curr_stale(cfs_rq));
}

void __fsw_tap_requeue_clock(struct cfs_rq *cfs_rq)
{
	this_cpu_ptr(fsw_lag_scratch)->stale_before = fsw_curr_stale(cfs_rq);
}

void __fsw_tap_requeue_lag(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);
	struct fsw_requeue *requeue = &s->requeue.body;

	if (s->requeue_open) {
		requeue->curr_stale_ns = fsw_curr_stale(cfs_rq);
		if (s->stale_before && !requeue->curr_stale_ns)
			requeue->branches |= FSW_LAG_CLOCK_UPDATED;
	}
	s->stale_before = 0;
}

void __fsw_tap_requeue_leave(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);
	struct fsw_requeue *requeue = &s->requeue.body;

	if (!s->requeue_open)
		return;
	s->requeue_open = false;
	/* Where the kernel has just left the lag in vlag. */
	if (!FSW_HYGIENE_NEEDED || fsw_feature(DELAY_ZERO) ||
	    (requeue->branches & FSW_LAG_CLAMPED)) {
		requeue->lag_after_ns = se->vlag;
	} else {
		s->average = fsw_average(cfs_rq);
		requeue->lag_after_ns = fsw_lag(&s->average, cfs_rq, se);
	}
	if (entity_is_task(se))
		fsw_task_seen(container_of(se, struct task_struct, se));
	fsw_ring_publish(&s->requeue, sizeof(s->requeue), FSW_KIND_REQUEUE,
			 cpu_of(rq_of(cfs_rq)), true);
}

/* Only sleeps, and whatever takes a delayed entity away. */
void __fsw_tap_delay_enter(struct cfs_rq *cfs_rq, struct sched_entity *se,
			   int flags)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);
	struct fsw_delay *delay = &s->delay.body;

	s->was_delayed = se->sched_delayed;
	s->delay_open = (s->was_delayed || (flags & DEQUEUE_SLEEP)) &&
			fsw_lag_wanted(cfs_rq, se, FSW_KIND_DELAY);
	if (!s->delay_open)
		return;
	delay->stamp.time_ns = ktime_get_mono_fast_ns();
	s->average = fsw_average(cfs_rq);
	fsw_read_entity(&delay->entity, &s->average, cfs_rq, se);
	delay->lag_stored_ns = 0;
	delay->dequeue_flags = flags;
	delay->branches = fsw_curr_branches(cfs_rq, se);
	if (s->was_delayed && fsw_lag_is_stored(cfs_rq)) {
		delay->branches |= FSW_LAG_STORED_VALID;
		delay->lag_stored_ns = se->vlag;
	}
}

void __fsw_tap_lag_clamp(bool raises)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);

	if (!raises)
		return;
	if (s->requeue_open)
		s->requeue.body.branches |= FSW_LAG_CLAMPED;
	else if (s->delay_open)
		s->delay.body.branches |= FSW_LAG_CLAMPED;
}

/* The entity is still ours: __block_task() comes later. */
void __fsw_tap_delay_leave(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct fsw_lag_scratch *s = this_cpu_ptr(fsw_lag_scratch);
	struct fsw_delay *delay = &s->delay.body;

	if (!s->delay_open)
		return;
	s->delay_open = false;
	if (s->was_delayed) {
		delay->verdict = FSW_DELAY_FINISHED;
	} else if (se->sched_delayed) {
		delay->verdict = FSW_DELAY_DELAYED;
		if (fsw_lag_is_stored(cfs_rq)) {
			delay->branches |= FSW_LAG_STORED_VALID;
			delay->lag_stored_ns = se->vlag;
		}
	} else {
		delay->verdict = FSW_DELAY_DEQUEUED;
	}
	delay->lag_after_ns = se->vlag;
	if (entity_is_task(se))
		fsw_task_seen(container_of(se, struct task_struct, se));
	fsw_ring_publish(&s->delay, sizeof(s->delay), FSW_KIND_DELAY,
			 cpu_of(rq_of(cfs_rq)), true);
}
