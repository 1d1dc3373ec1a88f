/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taps: called from the grafted fair.c under the runqueue's lock, interrupts
 * off, only while recording. They read; they never write scheduler state,
 * never sleep, print or warn.
 *
 * Records are assembled in this CPU's scratch area, one per kind, since a
 * Delay nests inside a Decision, and published in one copy.
 */
#ifndef FAIRSWITCH_TAP_H
#define FAIRSWITCH_TAP_H

#include <linux/percpu.h>
#include <linux/types.h>

#include <fairswitch/record.h>

struct cfs_rq;
struct rq;
struct sched_entity;
struct task_struct;

/* Wakeup checks entered on this CPU since load, recorded or not. */
DECLARE_PER_CPU(u64, fsw_decisions);

void __fsw_tap_enter(struct rq *rq, struct task_struct *p, int wake_flags);
void __fsw_tap_compare(struct rq *rq, struct cfs_rq *cfs_rq,
		       struct sched_entity *se, struct sched_entity *pse);
void __fsw_tap_short_cancel(void);
/* The preemption that follows is for this reason, not because of the pick. */
void __fsw_tap_preempt_path(enum fsw_path path);
/* The check leaves through a common end, for this reason. */
void __fsw_tap_keep_path(enum fsw_path path);
/* The wakee's slice is shorter. */
void __fsw_tap_short(void);
void __fsw_tap_short_nominee(bool is_next);
/* The preempted entity is about to lose its turn as next buddy, if it has it. */
void __fsw_tap_short_buddy(bool is_next);
void __fsw_tap_picked(struct cfs_rq *cfs_rq, struct sched_entity *se);
void __fsw_tap_dequeue_delayed(struct sched_entity *se);
void __fsw_tap_leave(struct rq *rq, struct task_struct *p, enum fsw_path path);

void __fsw_tap_requeue_enter(struct cfs_rq *cfs_rq, struct sched_entity *se);
void __fsw_tap_requeue_lag(struct cfs_rq *cfs_rq, struct sched_entity *se);
/* In enqueue, before a clock update that comes ahead of the requeue. */
void __fsw_tap_requeue_clock(struct cfs_rq *cfs_rq);
/* The lag is raised to the stored one, in a requeue or a dequeue. */
void __fsw_tap_lag_clamp(bool raises);
void __fsw_tap_requeue_leave(struct cfs_rq *cfs_rq, struct sched_entity *se);

void __fsw_tap_delay_enter(struct cfs_rq *cfs_rq, struct sched_entity *se,
			   int flags);
void __fsw_tap_delay_leave(struct cfs_rq *cfs_rq, struct sched_entity *se);

int fsw_tap_init(void);
void fsw_tap_exit(void);

#endif /* FAIRSWITCH_TAP_H */
