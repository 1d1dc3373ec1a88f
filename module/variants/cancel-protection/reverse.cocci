// SPDX-License-Identifier: GPL-2.0
//
// cancel-protection, where the kernel has it. forward.cocci says what it does,
// where it comes from and what it leaves behind.
//
// title: an eligible wakee with a shorter slice that wasn't picked ends curr's slice protection and preempts
// construct: if (preempt_action == PREEMPT_WAKEUP_SHORT && entity_eligible(cfs_rq, pse)) goto preempt;
// expect: wakeup_preempt_fair 1
//
// Only this branch: the unconditional cancel_protect_slice() at the preempt
// label also serves idle preemption and stays.

@@
symbol rq, p, wake_flags, cfs_rq, pse, preempt_action, preempt;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	if (preempt_action == PREEMPT_WAKEUP_SHORT && entity_eligible(cfs_rq, pse))
+	if (fsw_with(rq, FSW_V_CANCEL_PROTECTION) &&
+	    preempt_action == PREEMPT_WAKEUP_SHORT && entity_eligible(cfs_rq, pse))
		goto preempt;
...>
}
