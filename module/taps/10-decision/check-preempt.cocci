// SPDX-License-Identifier: GPL-2.0
//
// The wakeup-preemption check: each way out gets its own path value. Taps are
// pure readers. Entities are copied after update_curr() and before the first
// pick, the picked one before any dequeue.
//
// expect: check_preempt_wakeup_fair fsw_tap_enter 1
// expect: check_preempt_wakeup_fair fsw_tap_leave 8
// expect: check_preempt_wakeup_fair fsw_tap_compare 4
// expect: check_preempt_wakeup_fair fsw_tap_picked 1

@ enter @
identifier rq, p, wake_flags, se, pse;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
+	fsw_tap_enter(rq, p, wake_flags);
	if (unlikely(se == pse))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_SAME_ENTITY);
+		return;
+	}
...>
}

@ throttled @
identifier rq, p, wake_flags, pse;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (unlikely(throttled_hierarchy(cfs_rq_of(pse))))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_THROTTLED);
+		return;
+	}
...>
}

@ pending @
identifier rq, p, wake_flags, curr;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (test_tsk_need_resched(curr))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_RESCHED_PENDING);
+		return;
+	}
...>
}

@ off @
identifier rq, p, wake_flags;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (!sched_feat(WAKEUP_PREEMPTION))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_PREEMPTION_OFF);
+		return;
+	}
...>
}

@ idle_preempt @
symbol pse;
identifier rq, p, wake_flags, se, cse_is_idle, pse_is_idle;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (cse_is_idle && !pse_is_idle) {
+		fsw_tap_compare(rq, cfs_rq_of(se), se, pse);
+		fsw_tap_preempt_path(rq, FSW_PATH_IDLE_PREEMPT);
		cancel_protect_slice(se);
		goto preempt;
	}
	if (cse_is_idle != pse_is_idle)
-		return;
+	{
+		fsw_tap_compare(rq, cfs_rq_of(se), se, pse);
+		fsw_tap_leave(rq, p, FSW_PATH_IDLE_KEEP);
+		return;
+	}
	if (unlikely(!normal_policy(p->policy)))
-		return;
+	{
+		fsw_tap_compare(rq, cfs_rq_of(se), se, pse);
+		fsw_tap_leave(rq, p, FSW_PATH_POLICY_KEEP);
+		return;
+	}
...>
}

@ compare @
identifier rq, p, wake_flags, cfs_rq, se, pse;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	update_curr(cfs_rq);
+	fsw_tap_compare(rq, cfs_rq, se, pse);
	if (do_preempt_short(cfs_rq, pse, se))
-		cancel_protect_slice(se);
+	{
+		fsw_tap_short_cancel(rq);
+		cancel_protect_slice(se);
+	}
...>
}

// Where no variant has taken the pick apart.
@ pick @
identifier rq, p, wake_flags, cfs_rq, pse;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	if (pick_eevdf(cfs_rq) == pse)
-		goto preempt;
+	{
+		struct sched_entity *fsw_picked = pick_eevdf(cfs_rq);
+
+		fsw_tap_picked(rq, cfs_rq, fsw_picked);
+		if (fsw_picked == pse)
+			goto preempt;
+	}
...>
}

@ preempt @
identifier rq, p, wake_flags;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	resched_curr(rq);
+	fsw_tap_leave(rq, p, FSW_PATH_PICK_PREEMPT);
...>
}

// The one return that is left: the pick chose another.
@ tapped @
position at;
@@
fsw_tap_leave(...);
return@at;

@ keep @
identifier rq, p, wake_flags;
position at != tapped.at;
@@
check_preempt_wakeup_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
+	fsw_tap_leave(rq, p, FSW_PATH_PICK_KEEP);
	return@at;
...>
}
