// SPDX-License-Identifier: GPL-2.0
//
// hierarchical-idle, where the kernel has it: the check judges the entities at
// the level where the group ancestors of wakee and curr meet.
//
// title: whether wakee and curr count as idle is judged where their groups meet
// construct: cse_is_idle = se_is_idle(se); pse_is_idle = se_is_idle(pse); after find_matching_se()
// expect: check_preempt_wakeup_fair 2
//
// What: a normal task in a cpu.idle cgroup counts as idle against a task
// outside. Without the patch only the tasks' own policy (SCHED_IDLE) counts, as
// on the flat runqueue of later kernels.
//
// Where: the thread of "sched/eevdf: Move to a single runqueue", Jakub Okoński's
// report, October 2026.
//
// se and pse stay matched for the rest of the check. Other judgements of
// idleness (sched_idle_rq(), h_nr_idle, set_next_buddy()) stay hierarchical.
//
// State left behind: none.

@@
symbol rq, p, wake_flags, se, pse, cse_is_idle, pse_is_idle;
identifier curr;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
	...
	struct task_struct *curr = rq->curr;
	...
	find_matching_se(&se, &pse);
	...
-	cse_is_idle = se_is_idle(se);
-	pse_is_idle = se_is_idle(pse);
+	cse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      se_is_idle(se) : task_has_idle_policy(curr);
+	pse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      se_is_idle(pse) : task_has_idle_policy(p);
	...
}
