// SPDX-License-Identifier: GPL-2.0
//
// dequeue-delayed, where the kernel has it: the check picks with
// pick_next_entity(), which dequeues a delayed pick and returns NULL, and then
// tries again. forward.cocci says what it does, where it comes from and what it
// leaves behind.
//
// title: the wakeup check dequeues delayed entities that it picks, and picks again
// construct: nse = pick_next_entity(...); with a retry behind it
// expect: wakeup_preempt_fair 2
//
// Without it the pick is pick_eevdf() and there is no retry, which would never
// end. The early way out for a delayed wakee isn't part of it.

@ per_level @
symbol rq, p, wake_flags, cfs_rq, nse, pick;
expression protect;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	nse = pick_next_entity(rq, cfs_rq, protect);
+	nse = fsw_with(rq, FSW_V_DEQUEUE_DELAYED) ?
+		      pick_next_entity(rq, cfs_rq, protect) :
+		      fsw_tapped(rq, cfs_rq, pick_eevdf(cfs_rq, protect));
	...
-	if (!nse && cfs_rq->nr_queued)
+	if (fsw_with(rq, FSW_V_DEQUEUE_DELAYED) && !nse && cfs_rq->nr_queued)
		goto pick;
...>
}

@ flat @
symbol rq, p, wake_flags, cfs_rq, nse, pick;
expression protect;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	nse = pick_next_entity(rq, protect);
+	nse = fsw_with(rq, FSW_V_DEQUEUE_DELAYED) ?
+		      pick_next_entity(rq, protect) :
+		      fsw_tapped(rq, cfs_rq, pick_eevdf(cfs_rq, protect));
-	if (unlikely(!nse))
+	if (fsw_with(rq, FSW_V_DEQUEUE_DELAYED) && unlikely(!nse))
		goto pick;
...>
}
