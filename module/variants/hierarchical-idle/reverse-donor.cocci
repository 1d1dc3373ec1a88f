// SPDX-License-Identifier: GPL-2.0
//
// hierarchical-idle, where the kernel has it and tells donor from curr.
// reverse.cocci says what it does and where it comes from.
//
// title: whether wakee and curr count as idle is judged where their groups meet
// construct: cse_is_idle = se_is_idle(se); pse_is_idle = se_is_idle(pse); after find_matching_se()
// expect: wakeup_preempt_fair 2

@@
symbol rq, p, wake_flags, se, pse, cse_is_idle, pse_is_idle;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
	...
	find_matching_se(&se, &pse);
	...
-	cse_is_idle = se_is_idle(se);
-	pse_is_idle = se_is_idle(pse);
+	cse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      se_is_idle(se) : task_has_idle_policy(rq->donor);
+	pse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      se_is_idle(pse) : task_has_idle_policy(p);
	...
}
