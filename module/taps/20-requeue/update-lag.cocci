// SPDX-License-Identifier: GPL-2.0
//
// A delayed entity wakes, where update_entity_lag() says whether the entity must
// be placed anew. delay-zero.cocci has what is recorded.
//
// expect: requeue_delayed_entity fsw_tap_requeue_enter 1
// expect: requeue_delayed_entity fsw_tap_requeue_lag 1
// expect: requeue_delayed_entity fsw_tap_requeue_leave 1

@ enter @
symbol cfs_rq, se;
@@
requeue_delayed_entity(...)
{
<...
+	fsw_tap_requeue_enter(cfs_rq, se);
	WARN_ON_ONCE(!se->sched_delayed);
...>
}

@ lag @
symbol cfs_rq, se;
@@
requeue_delayed_entity(...)
{
<...
+	fsw_tap_requeue_lag(cfs_rq, se);
	if (update_entity_lag(cfs_rq, se)) {
		...
	}
+	fsw_tap_requeue_leave(cfs_rq, se);
...>
}
