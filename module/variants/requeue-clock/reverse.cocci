// SPDX-License-Identifier: GPL-2.0
//
// requeue-clock, where the kernel has it in requeue_delayed_entity().
// forward.cocci says what it does, where it comes from and what it leaves behind.
//
// title: curr's vruntime is brought up to date before a delayed entity is requeued
// construct: requeue_delayed_entity(): update_curr(cfs_rq); if (update_entity_lag(cfs_rq, se)) ...
// expect: requeue_delayed_entity 1

@@
symbol se, cfs_rq;
@@
requeue_delayed_entity(struct sched_entity *se)
{
<...
-	update_curr(cfs_rq);
+	if (fsw_with(rq_of(cfs_rq), FSW_V_REQUEUE_CLOCK))
+		update_curr(cfs_rq);
...>
}
