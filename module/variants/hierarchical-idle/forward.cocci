// SPDX-License-Identifier: GPL-2.0
//
// hierarchical-idle, where the kernel doesn't have it: on a flat runqueue se
// and pse are the tasks' own entities. reverse.cocci says what it does and where
// it comes from.
//
// title: whether wakee and curr count as idle is judged where their groups meet
// construct: cse_is_idle = se_is_idle(se); pse_is_idle = se_is_idle(pse); without find_matching_se()
// expect: wakeup_preempt_fair 2
//
// The ancestors are still there (depth, parent), so the level where the groups
// meet is found as find_matching_se() found it, for these two values only.

@ matched @
@@
wakeup_preempt_fair(...)
{
	<+...
	find_matching_se(...);
	...+>
}

@ depends on !matched @
symbol rq, p, wake_flags, se, pse, cse_is_idle, pse_is_idle;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	cse_is_idle = se_is_idle(se);
-	pse_is_idle = se_is_idle(pse);
+	cse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      fsw_idle_where_met(se, pse) : se_is_idle(se);
+	pse_is_idle = fsw_with(rq, FSW_V_HIERARCHICAL_IDLE) ?
+			      fsw_idle_where_met(pse, se) : se_is_idle(pse);
...>
}
