// SPDX-License-Identifier: GPL-2.0
//
// dequeue-delayed, where the kernel doesn't have it.
//
// title: the wakeup check dequeues delayed entities that it picks, and picks again
// construct: if (pick_eevdf(cfs_rq) == pse) goto preempt;
// expect: check_preempt_wakeup_fair 1
//
// What: the check compares the wakee with the entity that would be picked
// next. A delayed entity can be that pick, although the real pick would only
// dequeue it and look again. With the patch the check does the same.
//
// Where: "sched/eevdf: ... dequeue delayed entities while checking for
// preemption", Vincent Guittot, LKML, October 2026.
//
// State left behind: none beyond what an ordinary dequeue leaves; it happens
// earlier than at the pick and possibly from another CPU: the parent's next
// buddy (dequeue_entities() names it), hrtick, next_balance. A swap in
// mid-flight is safe, since both positions leave every entity either queued
// or properly dequeued.
//
// Why it can't run away: a dequeue removes one delayed entity, so the loop
// ends after as many rounds as there are such. A wakee that is itself delayed
// (migration) is left alone: picking could dequeue it under our feet. With the
// wakee queued the tree is never empty. The entity may be a group's, or curr's
// (delayed, on its way into the scheduler): dequeue_entities() takes both, as
// it does from pick_next_entity(). It must not be touched afterwards, see
// __block_task().

@@
identifier rq, p, wake_flags, cfs_rq, pse;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	if (pick_eevdf(cfs_rq) == pse)
-		goto preempt;
+	for (;;) {
+		struct sched_entity *fsw_picked = pick_eevdf(cfs_rq);
+
+		fsw_tap_picked(rq, cfs_rq, fsw_picked);
+		if (fsw_picked == pse)
+			goto preempt;
+		if (!fsw_with(rq, FSW_V_DEQUEUE_DELAYED))
+			break;
+		if (pse->sched_delayed || !fsw_picked || !fsw_picked->sched_delayed)
+			break;
+		fsw_tap_dequeue_delayed(rq, fsw_picked);
+		dequeue_entities(rq, fsw_picked, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
+	}
...>
}
