// SPDX-License-Identifier: GPL-2.0
//
// short-buddy in its form "clear", where the kernel does nothing.
//
// title: when a wakee with a shorter slice preempts, the preempted entity loses its turn as next buddy
// construct: preempt: resched_curr(rq);
// expect: check_preempt_wakeup_fair 1
//
// What: ->next beats EEVDF in the pick. If it names the entity that is being
// preempted for a shorter slice (or for not being idle), the preemption comes
// to nothing. With the patch such a hint is dropped; a third task's hint stays.
//
// Where: the reply to "dequeue delayed entities while checking for preemption"
// names it ("the clear buddies patch"), October 2026.
//
// Without nested cgroups, and with NEXT_BUDDY off as by default, nothing sets a
// hint, and both positions are the same.
//
// State left behind: ->next is NULL, which every pick understands.

@@
symbol rq, p, wake_flags, se, pse, cse_is_idle, pse_is_idle, preempt;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
preempt:
+	if (fsw_with(rq, FSW_V_SHORT_BUDDY) &&
+	    ((cse_is_idle && !pse_is_idle) ||
+	     (sched_feat(PREEMPT_SHORT) && pse->slice < se->slice))) {
+		fsw_tap_short_buddy(rq, cfs_rq_of(se)->next == se);
+		clear_buddies(cfs_rq_of(se), se);
+	}
	resched_curr(rq);
...>
}
