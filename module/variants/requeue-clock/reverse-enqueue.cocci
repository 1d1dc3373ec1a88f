// SPDX-License-Identifier: GPL-2.0
//
// requeue-clock, where the kernel has it in enqueue_task_fair(), for every
// enqueue. forward.cocci says what it does, where it comes from and what it
// leaves behind.
//
// title: curr's vruntime is brought up to date before a delayed entity is requeued
// construct: enqueue_task_fair(): update_curr_eevdf(cfs_rq); if (flags & ENQUEUE_DELAYED) ...
// expect: enqueue_task_fair 1
//
// Skipped for the requeue of a delayed entity only; ordinary enqueues keep it.

@@
symbol rq, p, flags, cfs_rq;
@@
enqueue_task_fair(struct rq *rq, struct task_struct *p, int flags)
{
<...
-	update_curr_eevdf(cfs_rq);
+	if (flags & ENQUEUE_DELAYED)
+		fsw_tap_requeue_clock(cfs_rq);
+	if (fsw_with(rq, FSW_V_REQUEUE_CLOCK) || !(flags & ENQUEUE_DELAYED))
+		update_curr_eevdf(cfs_rq);
	if (flags & ENQUEUE_DELAYED) {
		...
	}
...>
}
