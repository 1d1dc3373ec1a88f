// SPDX-License-Identifier: GPL-2.0
//
// A delayed entity wakes: its lag and how stale curr's clock is, before and
// when the lag is computed, and the lag with which it goes on.
//
// expect: requeue_delayed_entity fsw_tap_requeue_enter 1
// expect: requeue_delayed_entity fsw_tap_requeue_lag 1
// expect: requeue_delayed_entity fsw_tap_requeue_leave 1

@ enter @
identifier se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
<...
	struct cfs_rq *cfs_rq = cfs_rq_of(se);
	...
+	fsw_tap_requeue_enter(cfs_rq, se);
	SCHED_WARN_ON(!se->sched_delayed);
...>
}

@ lag @
identifier se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
<...
+	fsw_tap_requeue_lag(cfs_rq, se);
	if (sched_feat(DELAY_ZERO)) {
		update_entity_lag(cfs_rq, se);
		...
	}
...>
}

@ leave @
identifier se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
<...
+	fsw_tap_requeue_leave(cfs_rq, se);
	update_load_avg(cfs_rq, se, 0);
	clear_delayed(se);
...>
}
