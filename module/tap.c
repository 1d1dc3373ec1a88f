// SPDX-License-Identifier: GPL-2.0
/* The taps of the wakeup-preemption check. */
#include "filter.h"
#include "gate.h"
#include "read.h"
#include "ring.h"
#include "tap.h"
#include "task.h"
#include "trace.h"

DEFINE_PER_CPU(u64, fsw_decisions);

static const struct fsw_decision_record fsw_decision_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_DECISION, decision, DECISION);
static const struct fsw_brief_record fsw_brief_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_BRIEF, brief, BRIEF);

/*
 * A decision in the making, on the CPU that decides: the runqueue's lock is
 * held throughout, so there is one at a time. What a Brief tells is kept for
 * every decision; the rest only while somebody listens to entities. The
 * records have had their tags since the load, and keep them.
 */
struct fsw_deciding {
	struct fsw_brief_record brief;
	bool pending_before;
	bool lazy_before;
	u8 preempt_path;
	u8 keep_path;
	bool full;		/* the word's, which can't change meanwhile */
	bool passes;		/* the filter, so far */
	/* From here on while `full`. */
	bool followable;	/* no entity that we know has been dequeued */
	bool compared;
	bool picked;		/* anything, so far */
	const struct sched_entity *curr;	/* compared; followed while `followable` */
	struct fsw_average average;	/* here, for the stack costs more */
	struct fsw_decision_record record;
};

static struct fsw_deciding __percpu *fsw_deciding;

int fsw_tap_init(void)
{
	int cpu;

	fsw_deciding = alloc_percpu(struct fsw_deciding);
	if (!fsw_deciding)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct fsw_deciding *d = per_cpu_ptr(fsw_deciding, cpu);

		d->brief = fsw_brief_template;
		d->record = fsw_decision_template;
	}
	return 0;
}

void fsw_tap_exit(void)
{
	free_percpu(fsw_deciding);
}

/* What isn't set here is set on every way out. */
static void fsw_enter_full(struct fsw_deciding *d, const struct task_struct *p,
			   int wake_flags)
{
	struct fsw_decision *decision = &d->record.body;

	decision->stamp.time_ns = d->brief.body.stamp.time_ns;
	decision->picked_tag = FSW_TAG_VOID;
	decision->wake_flags = wake_flags;
	decision->wakee_state = READ_ONCE(p->__state);
	decision->wakee_pid = d->brief.body.wakee_pid;
	decision->curr_pid = d->brief.body.curr_pid;
	decision->queue.picks = 0;
	decision->queue.delayed_dequeued = 0;
	decision->queue.branches = 0;
	d->followable = true;
	d->compared = false;
	d->picked = false;
}

/* What the filter leaves out is read only for the trace event, which has none. */
static bool fsw_entities_wanted(struct rq *rq, const struct fsw_deciding *d)
{
	return fsw_word(cpu_of(rq)) & FSW_WORD_FULL &&
	       (d->passes || trace_decision_enabled());
}

void __fsw_tap_enter(struct rq *rq, struct task_struct *p, int wake_flags)
{
	struct fsw_deciding *d = this_cpu_ptr(fsw_deciding);
	struct fsw_brief *brief = &d->brief.body;

	d->passes = fsw_filter_passes_task(rq, p, FSW_KIND_DECISION);
	d->full = fsw_entities_wanted(rq, d);
	if (!d->passes && !d->full)
		return;
	brief->stamp.time_ns = ktime_get_mono_fast_ns();
	brief->wakee_pid = p->pid;
	brief->curr_pid = rq->donor->pid;
	brief->picked_pid = 0;
	d->preempt_path = FSW_PATH_PICK_PREEMPT;
	d->keep_path = FSW_PATH_PICK_KEEP;
	d->lazy_before = fsw_resched_lazy(rq->curr);
	d->pending_before = test_tsk_need_resched(rq->curr);
	if (d->full)
		fsw_enter_full(d, p, wake_flags);
}

static void fsw_branch(bool taken, enum fsw_queue_branch branch)
{
	if (taken)
		this_cpu_ptr(fsw_deciding)->record.body.queue.branches |= branch;
}

static void fsw_read_queue(struct fsw_queue *to,
			   const struct fsw_average *average,
			   const struct cfs_rq *cfs_rq)
{
	to->queued = fsw_nr_queued(cfs_rq);
	to->h_queued = cfs_rq->h_nr_queued;
	to->load = average->load;
	to->avg_vruntime_ns = average->vruntime;
	to->buddy_pid = fsw_entity_pid(cfs_rq->next);
}

void __fsw_tap_compare(struct rq *rq, struct cfs_rq *cfs_rq,
		       struct sched_entity *se, struct sched_entity *pse)
{
	struct fsw_deciding *d = this_cpu_ptr(fsw_deciding);
	struct fsw_decision *decision = &d->record.body;

	if (!d->full)
		return;
	d->compared = true;
	d->curr = se;
	d->average = fsw_average(cfs_rq);
	fsw_read_entity(&decision->wakee, &d->average, cfs_rq, pse);
	fsw_read_entity(&decision->curr, &d->average, cfs_rq, se);
	fsw_read_queue(&decision->queue, &d->average, cfs_rq);
	if (fsw_protected(se))
		decision->queue.branches |= FSW_BRANCH_PROTECTED_BEFORE;
	if (cfs_rq->next == se)
		decision->queue.branches |= FSW_BRANCH_BUDDY_IS_CURR;
}

void __fsw_tap_preempt_path(enum fsw_path path)
{
	this_cpu_ptr(fsw_deciding)->preempt_path = path;
}

void __fsw_tap_keep_path(enum fsw_path path)
{
	this_cpu_ptr(fsw_deciding)->keep_path = path;
}

void __fsw_tap_short_cancel(void)
{
	fsw_branch(true, FSW_BRANCH_SHORT_CANCEL);
}

void __fsw_tap_short(void)
{
	fsw_branch(true, FSW_BRANCH_SHORT);
}

void __fsw_tap_short_nominee(bool is_next)
{
	fsw_branch(is_next, FSW_BRANCH_BUDDY_NOMINATED);
}

void __fsw_tap_short_buddy(bool is_next)
{
	fsw_branch(is_next, FSW_BRANCH_BUDDY_CLEARED);
}

void __fsw_tap_picked(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct fsw_deciding *d = this_cpu_ptr(fsw_deciding);
	struct fsw_decision *decision = &d->record.body;

	d->brief.body.picked_pid = fsw_entity_pid(se);
	if (!d->full)
		return;
	decision->queue.picks++;
	decision->queue.branches &= ~FSW_BRANCH_DELAYED_PICKED;
	if (!se) {
		decision->picked_tag = FSW_TAG_VOID;
		return;
	}
	decision->picked_tag = FSW_TAG(12, entity);
	d->picked = true;
	d->average = fsw_average(cfs_rq);
	fsw_read_entity(&decision->picked, &d->average, cfs_rq, se);
	if (se->sched_delayed)
		decision->queue.branches |= FSW_BRANCH_DELAYED_PICKED;
}

void __fsw_tap_dequeue_delayed(struct sched_entity *se)
{
	struct fsw_deciding *d = this_cpu_ptr(fsw_deciding);
	struct fsw_queue *queue = &d->record.body.queue;

	if (!d->full)
		return;
	queue->branches |= FSW_BRANCH_DEQUEUE_DELAYED;
	queue->delayed_dequeued++;
	if (se == d->curr)
		d->followable = false;
}

static enum fsw_resched fsw_resched_effect(const struct fsw_deciding *d,
					   struct rq *rq)
{
	bool lazy = fsw_resched_lazy(rq->curr);

	if (d->pending_before)
		return FSW_RESCHED_ALREADY;
	if (!test_tsk_need_resched(rq->curr)) {
		if (d->lazy_before)
			return FSW_RESCHED_ALREADY;
		return lazy ? FSW_RESCHED_LAZY : FSW_RESCHED_NONE;
	}
	return cpu_of(rq) == smp_processor_id() ? FSW_RESCHED_NOW_LOCAL :
						  FSW_RESCHED_NOW_IPI;
}

/*
 * Ways out before groups are matched: the tasks' own entities, each on its own
 * cfs_rq. A lag against another's V would mean nothing.
 */
static void fsw_compare_unmatched(struct fsw_deciding *d, struct rq *rq,
				  struct task_struct *p)
{
	struct sched_entity *curr = &rq->donor->se;
	struct cfs_rq *wakees = fsw_searched(rq, &p->se);

	__fsw_tap_compare(rq, fsw_searched(rq, curr), curr, &p->se);
	d->average = fsw_average(wakees);
	fsw_read_entity(&d->record.body.wakee, &d->average, wakees, &p->se);
}

static void fsw_leave_full(struct fsw_deciding *d, struct rq *rq,
			   struct task_struct *p)
{
	struct fsw_decision *decision = &d->record.body;

	if (!d->compared)
		fsw_compare_unmatched(d, rq, p);
	/* Its bytes are there although it is absent: not an earlier decision's. */
	if (!d->picked)
		decision->picked = fsw_decision_template.body.picked;
	decision->verdict = d->brief.body.verdict;
	decision->path = d->brief.body.path;
	decision->resched = d->brief.body.resched;
	if (d->followable && fsw_protected(d->curr))
		decision->queue.branches |= FSW_BRANCH_PROTECTED_AFTER;
}

static void fsw_publish(struct fsw_deciding *d, struct rq *rq,
			struct task_struct *p)
{
	if (!d->passes || !fsw_filter_passes_path(d->brief.body.path)) {
		fsw_ring_filtered(FSW_KIND_BRIEF);
		fsw_ring_filtered(FSW_KIND_DECISION);
		return;
	}
	fsw_task_seen(p);
	fsw_task_seen(rq->donor);
	fsw_ring_publish(&d->brief, sizeof(d->brief), FSW_KIND_BRIEF,
			 cpu_of(rq), true);
	if (d->full)
		fsw_ring_publish(&d->record, sizeof(d->record),
				 FSW_KIND_DECISION, cpu_of(rq), true);
}

void __fsw_tap_leave(struct rq *rq, struct task_struct *p, enum fsw_path path)
{
	struct fsw_deciding *d = this_cpu_ptr(fsw_deciding);
	struct fsw_decision *decision = &d->record.body;
	struct fsw_brief *brief = &d->brief.body;

	if (!d->passes && !d->full) {
		fsw_publish(d, rq, p);
		return;
	}
	brief->verdict = path == FSW_PATH_PICK_PREEMPT ?
			 FSW_VERDICT_PREEMPT : FSW_VERDICT_KEEP;
	/* The preempt label, and the common way out, are reached for several reasons. */
	if (path == FSW_PATH_PICK_PREEMPT)
		path = d->preempt_path;
	else if (path == FSW_PATH_PICK_KEEP)
		path = d->keep_path;
	brief->path = path;
	brief->resched = fsw_resched_effect(d, rq);
	if (d->full) {
		fsw_leave_full(d, rq, p);
		decision->duration_ns = ktime_get_mono_fast_ns() -
					decision->stamp.time_ns;
		trace_decision(decision, p->comm, cpu_of(rq),
			       fsw_word_arm(fsw_word(cpu_of(rq))));
	}
	fsw_publish(d, rq, p);
}
