// SPDX-License-Identifier: GPL-2.0
//
// short-buddy in its form "clear", where the kernel has it. forward.cocci says
// what it does, where it comes from and what it leaves behind.
//
// title: when a wakee with a shorter slice preempts, the preempted entity loses its turn as next buddy
// construct: preempt: if (preempt_action == PREEMPT_WAKEUP_SHORT) { cancel_protect_slice(se); clear_buddies(cfs_rq, se); }
// expect: wakeup_preempt_fair 1
//
// Preempting an idle entity counts as SHORT here.

@@
symbol rq, p, wake_flags, cfs_rq, se, preempt_action;
@@
wakeup_preempt_fair(struct rq *rq, struct task_struct *p, int wake_flags)
{
<...
	if (preempt_action == PREEMPT_WAKEUP_SHORT) {
		cancel_protect_slice(se);
-		clear_buddies(cfs_rq, se);
+		if (fsw_with(rq, FSW_V_SHORT_BUDDY)) {
+			fsw_tap_short_buddy(rq, cfs_rq->next == se);
+			clear_buddies(cfs_rq, se);
+		}
	}
...>
}
