// SPDX-License-Identifier: GPL-2.0
//
// An entity goes to sleep (delayed, or dequeued at once), or a delayed one
// leaves. Nests inside a decision.
//
// expect: dequeue_entity fsw_tap_delay_enter 1
// expect: dequeue_entity fsw_tap_delay_leave 2

@ enter @
identifier se, cfs_rq, flags;
@@
dequeue_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, int flags)
{
<...
	update_curr(cfs_rq);
+	fsw_tap_delay_enter(cfs_rq, se, flags);
	clear_buddies(cfs_rq, se);
...>
}

@ delayed @
identifier se, cfs_rq, flags;
@@
dequeue_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, int flags)
{
<...
	set_delayed(se);
+	fsw_tap_delay_leave(cfs_rq, se);
	return false;
...>
}

@ gone @
identifier se, cfs_rq, flags;
@@
dequeue_entity(struct cfs_rq *cfs_rq, struct sched_entity *se, int flags)
{
<...
+	fsw_tap_delay_leave(cfs_rq, se);
	return true;
...>
}
