// SPDX-License-Identifier: GPL-2.0
//
// lag-clamp, where the kernel has it. forward.cocci says what it does and where
// it comes from.
//
// title: a delayed entity's lag never falls below the lag it was delayed with
// construct: update_entity_lag(): if (se->sched_delayed) { vlag = max(vlag, se->vlag); ...
// expect: update_entity_lag 1
//
// Only the max() is skipped: the positive half, and that an entity is placed
// anew whenever its lag was changed, stay.
//
// State left behind: these kernels always store the real lag in se->vlag when
// an entity is delayed, in either position, so a swap in mid-flight is safe
// without further care.

@@
symbol cfs_rq, se, vlag;
@@
update_entity_lag(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
<...
-	vlag = max(vlag, se->vlag);
+	if (fsw_with(rq_of(cfs_rq), FSW_V_LAG_CLAMP)) {
+		fsw_tap_lag_clamp(cfs_rq, vlag < se->vlag);
+		vlag = max(vlag, se->vlag);
+	}
...>
}
