// SPDX-License-Identifier: GPL-2.0
//
// The wakeup-preemption check of kernels that name a preempt_action and compare
// at the level where the groups meet. check-preempt.cocci has the rules for taps.
//
// expect: wakeup_preempt_fair fsw_tap_enter 1
// expect: wakeup_preempt_fair fsw_tap_leave 11
// expect: wakeup_preempt_fair fsw_tapped_pick 1
// expect: wakeup_preempt_fair fsw_tap_short 1
//
// The pick dequeues a delayed entity by itself. fsw_tapped_pick() is that pick,
// taken apart so that the picked entity is copied before it is dequeued; the
// proof that arm 0 is stock is made with pick_next_entity() itself.

@ early_way @
symbol rq, p, wake_flags, fair_sched_class, donor, se, pse;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
+	fsw_tap_enter(rq, p, wake_flags);
	if (p->sched_class != &fair_sched_class ||
	    donor->sched_class != &fair_sched_class)
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_OTHER_CLASS);
+		return;
+	}
	if (unlikely(se == pse))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_SAME_ENTITY);
+		return;
+	}
	if (task_is_throttled(p))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_THROTTLED);
+		return;
+	}
...>
}

@ pending_way @
symbol rq, p, wake_flags;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (<+... test_tsk_need_resched(rq->curr) ...+>)
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_RESCHED_PENDING);
+		return;
+	}
	if (!sched_feat(WAKEUP_PREEMPTION))
-		return;
+	{
+		fsw_tap_leave(rq, p, FSW_PATH_PREEMPTION_OFF);
+		return;
+	}
...>
}

@ idle_way @
symbol rq, p, wake_flags, se, pse, cse_is_idle, pse_is_idle, preempt_action, preempt;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (cse_is_idle && !pse_is_idle) {
+		fsw_tap_compare(rq, cfs_rq_of(se), se, pse);
+		fsw_tap_preempt_path(rq, FSW_PATH_IDLE_PREEMPT);
		preempt_action = PREEMPT_WAKEUP_SHORT;
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

@ compare_way @
symbol rq, p, wake_flags, cfs_rq, se, pse, preempt_action, pick;
expression longer;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	update_curr(cfs_rq);
+	fsw_tap_compare(rq, cfs_rq, se, pse);
	if (longer) {
+		fsw_tap_short(rq);
		preempt_action = PREEMPT_WAKEUP_SHORT;
		goto pick;
	}
	if ((wake_flags & WF_FORK) || pse->sched_delayed)
-		return;
+	{
+		fsw_tap_leave(rq, p, pse->sched_delayed ?
+				     FSW_PATH_DELAYED_KEEP : FSW_PATH_FORK_KEEP);
+		return;
+	}
...>
}

@ sync_way @
symbol rq, p, wake_flags, se, pse, preempt_action;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	preempt_action = preempt_sync(rq, wake_flags, pse, se);
+	if (preempt_action == PREEMPT_WAKEUP_RESCHED)
+		fsw_tap_preempt_path(rq, FSW_PATH_SYNC_PREEMPT);
...>
}

@ pick_way @
symbol rq, p, wake_flags, cfs_rq;
expression protect;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
-	pick_next_entity(rq, cfs_rq, protect)
+	fsw_tapped_pick(rq, cfs_rq, pick_next_entity(rq, cfs_rq, protect),
+			pick_eevdf(cfs_rq, protect),
+			dequeue_entities(rq, fsw_se, DEQUEUE_SLEEP | DEQUEUE_DELAYED))
...>
}

@ cancel_way @
symbol rq, p, wake_flags, cfs_rq, pse, preempt;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (<+... entity_eligible(cfs_rq, pse) ...+>)
-		goto preempt;
+	{
+		fsw_tap_preempt_path(rq, FSW_PATH_CANCEL_PREEMPT);
+		goto preempt;
+	}
...>
}

@ keep_way @
symbol rq, p, wake_flags, cfs_rq, se;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (sched_feat(RUN_TO_PARITY))
		update_protect_slice(cfs_rq, se);
+	fsw_tap_leave(rq, p, FSW_PATH_PICK_KEEP);
	return;
...>
}

@ preempted_way @
symbol rq, p, wake_flags;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	resched_curr_lazy(rq);
+	fsw_tap_leave(rq, p, FSW_PATH_PICK_PREEMPT);
...>
}

// The one return that is left: preempt_sync() said no.
@ tapped @
position at;
@@
fsw_tap_leave(...);
return@at;

@ none_way @
symbol rq, p, wake_flags;
position at != tapped.at;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
+	fsw_tap_leave(rq, p, FSW_PATH_SYNC_KEEP);
	return@at;
...>
}
