// SPDX-License-Identifier: GPL-2.0
//
// A task goes to sleep, or a delayed one leaves, on a flat runqueue.
// dequeue-entity.cocci has what is recorded.
//
// expect: __dequeue_task fsw_tap_delay_enter 1
// expect: __dequeue_task fsw_tap_delay_leave 2
//
// The second leave is before __block_task(): after it the task isn't ours.

@ enter @
symbol rq, p, flags, cfs_rq, se;
@@
__dequeue_task(struct rq *rq, struct task_struct *p, int flags)
{
<...
	update_curr_eevdf(cfs_rq);
+	fsw_tap_delay_enter(cfs_rq, se, flags);
	update_entity_lag(cfs_rq, se);
...>
}

@ delayed @
symbol rq, p, flags, cfs_rq, se;
@@
__dequeue_task(struct rq *rq, struct task_struct *p, int flags)
{
<...
	set_delayed(se);
+	fsw_tap_delay_leave(cfs_rq, se);
	return false;
...>
}

@ gone @
symbol rq, p, flags, cfs_rq, se;
@@
__dequeue_task(struct rq *rq, struct task_struct *p, int flags)
{
<...
+	fsw_tap_delay_leave(cfs_rq, se);
	sub_nr_running(rq, 1);
...>
}
