// SPDX-License-Identifier: GPL-2.0
//
// requeue-clock, where the kernel doesn't have it.
//
// title: curr's vruntime is brought up to date before a delayed entity is requeued
// construct: requeue_delayed_entity(): if (sched_feat(DELAY_ZERO)) { update_entity_lag(cfs_rq, se); ...
// expect: requeue_delayed_entity 1
//
// What: the lag of a delayed entity that wakes is computed from V, and V
// includes curr, whose vruntime is only as new as its last update. With the
// patch curr is updated first.
//
// Where: "sched: Update time before requeueing delayed entities", Vincent
// Guittot, August 2026, commit 333238da9a19; named by a bisection in the thread
// of "sched/eevdf: Move to a single runqueue", October 2026.
//
// State left behind: none that another position reads differently.
// update_curr() may be called at any time; it also accounts bandwidth, moves
// the deadline and may ask for a reschedule, so the decision that follows can
// find "already asked". The cfs_rq may have no curr (nothing is stale then), or
// the entity itself may be curr.

@@
identifier se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
	...
+	if (fsw_with(rq_of(cfs_rq), FSW_V_REQUEUE_CLOCK))
+		update_curr(cfs_rq);
	if (sched_feat(DELAY_ZERO)) {
		update_entity_lag(cfs_rq, se);
		...
	}
	...
}
