// SPDX-License-Identifier: GPL-2.0
//
// cancel-protection, where the kernel doesn't have it and the check picks with
// pick_next_entity(). forward.cocci says what it does, where it comes from and
// what it leaves behind.
//
// title: an eligible wakee with a shorter slice that wasn't picked ends curr's slice protection and preempts
// construct: PREEMPT_WAKEUP_SHORT, and behind the pick: if (sched_feat(RUN_TO_PARITY)) update_protect_slice(cfs_rq, se);
// expect: wakeup_preempt_fair 2
//
// These kernels ask for a shorter slice before they ask whether the wakee is
// delayed, and the pick can dequeue it. Where the position is `with`, a delayed
// wakee goes the way of all delayed wakees instead: it must be there to be
// looked at behind the pick.

@ late @
symbol rq, p, wake_flags, se, pse, preempt_action, pick;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	if (sched_feat(PREEMPT_SHORT) && (pse->slice < se->slice)) {
+	if (sched_feat(PREEMPT_SHORT) && (pse->slice < se->slice) &&
+	    !(fsw_with(rq, FSW_V_CANCEL_PROTECTION) && pse->sched_delayed)) {
		preempt_action = PREEMPT_WAKEUP_SHORT;
		goto pick;
	}
...>
}

@ depends on late @
symbol rq, p, wake_flags, cfs_rq, nse, pse, preempt_action, preempt, pick;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (!nse && cfs_rq->nr_queued)
		goto pick;
+	if (fsw_with(rq, FSW_V_CANCEL_PROTECTION) &&
+	    preempt_action == PREEMPT_WAKEUP_SHORT &&
+	    entity_eligible(cfs_rq, pse))
+		goto preempt;
...>
}
