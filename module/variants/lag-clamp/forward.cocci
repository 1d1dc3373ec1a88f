// SPDX-License-Identifier: GPL-2.0
//
// lag-clamp, where the kernel has only the positive half.
//
// title: a delayed entity's lag never falls below the lag it was delayed with
// construct: requeue_delayed_entity(): update_entity_lag(); if (se->vlag > 0) ..., and dequeue_entity(): set_delayed(); ... update_entity_lag();
// expect: requeue_delayed_entity 1
// expect: dequeue_entity 3
// expect: reweight_entity 1
//
// What: while an entity is delayed, others that are enqueued can move V
// backward and make its negative lag worse than if it had been dequeued at
// once. With the patch its lag at requeue, and at any dequeue, is at least the
// lag it was delayed with. The positive half (DELAY_ZERO: no gain while
// delayed) stays whatever the kernel does.
//
// Where: "sched: fair: Prevent negative lag increase during delayed dequeue",
// Vincent Guittot, LKML, 2026. The form is that of the kernels that have it:
// also at dequeue and migration, and independent of DELAY_ZERO.
//
// State left behind: se->vlag of delayed entities. On these kernels vlag of a
// queued entity is also the mark of slice protection (a copy of the deadline),
// stale lags stay in it, and a deadline can be negative, so its sign tells
// nothing. Hence the hygiene bit: it is set per runqueue, under its lock, after
// the module has zeroed vlag of every delayed entity found there. While it is
// set the delay path stores the real lag (`with`) or 0 (`without`); 0 or more
// means "nothing stored". While it is clear the code is stock.
//   Who else reads vlag of a delayed entity before it is written again? Nobody
// who minds: pick_eevdf() drops an ineligible curr before it asks for
// protection, and did_preempt_short() can at most ask a task to reschedule
// that is already in schedule(). Entities that migrate while delayed get their
// current lag at the dequeue, which is a legal stored lag.
//   So a swap in mid-flight is safe: delayed under `without` → 0, no clamp
// under `with`; delayed under `with` → `without` doesn't look.
//
// reweight_entity() keeps a queued entity's lag·weight but not its stored lag:
// scaled here in the same way as for an entity that isn't queued.

@ requeue @
identifier se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
	struct cfs_rq *cfs_rq = cfs_rq_of(se);
+	s64 fsw_stored = fsw_with(rq_of(cfs_rq), FSW_V_LAG_CLAMP) ?
+				 fsw_stored_lag(cfs_rq, se) : 0;
	...
	if (sched_feat(DELAY_ZERO)) {
		update_entity_lag(cfs_rq, se);
		if (se->vlag > 0) {
			...
		}
	}
+	if (fsw_stored < 0) {
+		if (!sched_feat(DELAY_ZERO))
+			update_entity_lag(cfs_rq, se);
+		if (se->vlag < fsw_stored) {
+			cfs_rq->nr_running--;
+			if (se != cfs_rq->curr)
+				__dequeue_entity(cfs_rq, se);
+			se->vlag = fsw_stored;
+			place_entity(cfs_rq, se, 0);
+			if (se != cfs_rq->curr)
+				__enqueue_entity(cfs_rq, se);
+			cfs_rq->nr_running++;
+			fsw_tap_lag_clamp(cfs_rq, true);
+		}
+	}
	...
}

@ delay @
identifier se, cfs_rq, flags;
@@
dequeue_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, int flags)
{
<...
	update_load_avg(cfs_rq, se, 0);
+	if (fsw_hygiene(rq_of(cfs_rq))) {
+		if (fsw_with(rq_of(cfs_rq), FSW_V_LAG_CLAMP))
+			update_entity_lag(cfs_rq, se);
+		else
+			se->vlag = 0;
+	}
	set_delayed(se);
...>
}

@ leave @
identifier se, cfs_rq, flags;
@@
dequeue_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, int flags)
{
<...
	update_stats_dequeue_fair(cfs_rq, se, flags);
+	s64 fsw_stored = fsw_with(rq_of(cfs_rq), FSW_V_LAG_CLAMP) && se->sched_delayed ?
+				 fsw_stored_lag(cfs_rq, se) : 0;

	update_entity_lag(cfs_rq, se);
+	if (fsw_stored < 0 && se->vlag < fsw_stored) {
+		se->vlag = fsw_stored;
+		fsw_tap_lag_clamp(cfs_rq, true);
+	}
...>
}

@ reweight @
identifier se, cfs_rq, weight, avruntime;
@@
reweight_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, unsigned long weight)
{
<...
+		if (fsw_hygiene(rq_of(cfs_rq)) && se->sched_delayed)
+			se->vlag = div_s64(se->vlag * se->load.weight, weight);
		reweight_eevdf(se, avruntime, weight);
...>
}
