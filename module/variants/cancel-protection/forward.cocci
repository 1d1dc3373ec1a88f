// SPDX-License-Identifier: GPL-2.0
//
// cancel-protection, where the kernel doesn't have it and the check picks with
// pick_eevdf().
//
// title: an eligible wakee with a shorter slice that wasn't picked ends curr's slice protection and preempts
// construct: if (pick_eevdf(cfs_rq) == pse) goto preempt;
// expect: check_preempt_wakeup_fair 1
//
// What: a wakee with a shorter slice (PREEMPT_SHORT) that is eligible, but not
// the next to run, waits until curr's protection ends, up to a whole slice.
// With the patch it cancels the protection and asks for a reschedule; what runs
// then is still EEVDF's pick.
//
// Where: "[PATCH 4/6 v3] sched/eevdf: Cancel slice protection if short slice
// task is eligible", Vincent Guittot, June 2026.
//
// The kernel's own do_preempt_short() cancels under a narrower condition
// before the pick; it is left alone. A wakee that is itself delayed (migration)
// never preempts here: it could be dequeued by the pick.
//
// State left behind: curr's protection mark says "cancelled" until its slice
// ends, as after the kernel's own cancellation, so any position may read it.
// If the entity is picked again at once no new mark is set and it stays
// unprotected. curr's entity may have been dequeued just before (it was
// delayed); it can't leave this CPU before the context switch, which waits for
// the runqueue's lock, so its mark is still ours to write.

@@
symbol rq, p, wake_flags, cfs_rq, se, pse, preempt;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (pick_eevdf(cfs_rq) == pse)
		goto preempt;
+	if (fsw_with(rq, FSW_V_CANCEL_PROTECTION) && sched_feat(PREEMPT_SHORT) &&
+	    pse->slice < se->slice && !pse->sched_delayed &&
+	    entity_eligible(cfs_rq, pse)) {
+		fsw_tap_preempt_path(rq, FSW_PATH_CANCEL_PREEMPT);
+		cancel_protect_slice(se);
+		goto preempt;
+	}
...>
}
