// SPDX-License-Identifier: GPL-2.0
//
// short-buddy in its form "nominate", where the kernel has it.
//
// title: when a wakee with a shorter slice preempts, it becomes the next buddy
// construct: preempt: if (preempt_action == PREEMPT_WAKEUP_SHORT) set_short_buddy(cfs_rq, pse);
// expect: wakeup_preempt_fair 1
//
// What: the wakee is named as ->next, unless an existing buddy has a shorter
// slice, so that the pick that follows takes it.
//
// Where: "[PATCH 4/6 v3] sched/eevdf: Cancel slice protection if short slice
// task is eligible", Vincent Guittot, June 2026; merged in a wider form, for
// every SHORT preemption.
//
// State left behind: ->next until it is picked, dequeued or cleared; a decision
// under the other position can still pick it, as any buddy. A delayed wakee
// never comes this far. Preempting an idle entity isn't SHORT here.

@@
symbol rq, p, wake_flags, cfs_rq, pse, preempt_action;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	if (preempt_action == PREEMPT_WAKEUP_SHORT)
+	if (fsw_with(rq, FSW_V_SHORT_BUDDY) &&
+	    preempt_action == PREEMPT_WAKEUP_SHORT)
		set_short_buddy(cfs_rq, pse);
...>
}
