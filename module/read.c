// SPDX-License-Identifier: GPL-2.0
#include "read.h"

static u32 fsw_entity_flags(const struct fsw_average *average,
			    const struct sched_entity *se)
{
	u32 flags = 0;

	if (entity_is_task(se)) {
		flags |= FSW_ENTITY_TASK;
		flags |= (container_of(se, struct task_struct, se)->policy & 0xf)
			 << FSW_ENTITY_POLICY_SHIFT;
	}
	if (fsw_eligible(average, se))
		flags |= FSW_ENTITY_ELIGIBLE;
	if (se->sched_delayed)
		flags |= FSW_ENTITY_DELAYED;
	if (se->on_rq)
		flags |= FSW_ENTITY_ON_RQ;
	if (se->custom_slice)
		flags |= FSW_ENTITY_CUSTOM_SLICE;
	if (fsw_protected(se))
		flags |= FSW_ENTITY_PROTECTED;
	if (fsw_idle(se))
		flags |= FSW_ENTITY_IDLE | FSW_ENTITY_EFFECTIVE_IDLE;
	else if (fsw_idle_above(se))
		flags |= FSW_ENTITY_EFFECTIVE_IDLE;
	return flags;
}

void fsw_read_entity(struct fsw_entity *to, const struct fsw_average *average,
		     const struct cfs_rq *cfs_rq,
		     const struct sched_entity *se)
{
	u32 flags = fsw_entity_flags(average, se);
	s64 lag = fsw_lag(average, cfs_rq, se);
	u32 pid = fsw_entity_pid(se);
	u64 group, owned;

	flags |= fsw_group(fsw_cfs_rq_group(fsw_own_cfs_rq(se)), &group)
		 << FSW_ENTITY_GROUP_SHIFT;
	flags |= fsw_group(fsw_cfs_rq_group(fsw_owned(se)), &owned)
		 << FSW_ENTITY_OWNED_SHIFT;
	/* Read before: for all that the compiler knows, a store may be to `se`. */
	to->group_id = group;
	to->owned_group_id = owned;
	to->pid = pid;
	to->flags = flags;
	to->weight = fsw_load_of(se).weight;
	to->slice_ns = se->slice;
	to->vruntime_ns = se->vruntime;
	to->deadline_ns = se->deadline;
	to->lag_ns = lag;
}
