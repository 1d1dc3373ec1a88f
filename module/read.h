/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pure readers of scheduler state: everything is const. The kernel's own
 * avg_vruntime() moves zero_vruntime, so recording with it would change what
 * is recorded (core scheduling compares zero_vruntime across CPUs).
 *
 * Includes the kernel's private sched.h: only tap and gate code does.
 */
#ifndef FAIRSWITCH_READ_H
#define FAIRSWITCH_READ_H

#include <linux/cgroup.h>
#include <linux/mmu_context.h>	/* sched.h uses it without including it */
#include <linux/sched.h>

#include "sched.h"
#include "autogroup.h"

#include <fairswitch/record.h>

#include "compat.h"

/*
 * What eligibility and lag of all entities of a cfs_rq are measured against,
 * at one moment: good until anything of the cfs_rq changes.
 */
struct fsw_average {
	s64 load;	/* weights, as the sums count them */
	s64 sum;	/* of weights times keys */
	u64 zero;	/* the vruntime whose key is 0 */
	u64 vruntime;	/* V */
};

/* Of vruntimes, as avg_vruntime() would return it: division rounds down. */
static inline u64 fsw_divided(const struct fsw_average *average)
{
	s64 sum = average->sum;

	if (!average->load)
		return average->zero;
	if (sum < 0)
		sum -= average->load - 1;
	return average->zero + div64_s64(sum, average->load);
}

/* Curr counts although it isn't queued. */
static inline struct fsw_average fsw_average(const struct cfs_rq *cfs_rq)
{
	const struct sched_entity *curr = cfs_rq->curr;
	struct fsw_average average = {
		.load = fsw_sum_weight_of(cfs_rq),
		.sum = fsw_sum_of(cfs_rq),
		.zero = cfs_rq->zero_vruntime,
	};

	if (curr && curr->on_rq) {
		s64 weight = fsw_sum_weight(cfs_rq, curr);

		average.load += weight;
		average.sum += (s64)(curr->vruntime - average.zero) * weight;
	}
	average.vruntime = fsw_divided(&average);
	return average;
}

/* entity_eligible(): without the division, which loses precision. */
static inline bool fsw_eligible(const struct fsw_average *average,
				const struct sched_entity *se)
{
	return average->sum >=
	       (fsw_product)(s64)(se->vruntime - average->zero) * average->load;
}

/*
 * entity_lag(), limited in the entity's virtual time. Kernels that divide by
 * multiplying with an inverse do so less exactly: there clamped lags differ, by
 * parts in a million.
 */
static inline s64 fsw_lag(const struct fsw_average *average,
			  const struct cfs_rq *cfs_rq,
			  const struct sched_entity *se)
{
	u64 limit = fsw_delta_fair(fsw_lag_limit(cfs_rq, se),
				   fsw_load_of(se).weight);
	s64 lag = average->vruntime - se->vruntime;

	return clamp_t(s64, lag, -(s64)limit, (s64)limit);
}

/* se_is_idle(): as the check judges an entity. */
static inline bool fsw_idle(const struct sched_entity *se)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	if (se->my_q)
		return se->my_q->idle > 0;
#endif
	return container_of(se, struct task_struct, se)->policy == SCHED_IDLE;
}

/* Whether a group above it is idle. */
static inline bool fsw_idle_above(const struct sched_entity *se)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	for (se = se->parent; se; se = se->parent)
		if (fsw_idle(se))
			return true;
#endif
	return false;
}

/* Thread id in the initial namespace; 0 for a group or nobody. */
static inline u32 fsw_entity_pid(const struct sched_entity *se)
{
	if (!se || !entity_is_task(se))
		return 0;
	return container_of(se, struct task_struct, se)->pid;
}

/*
 * The scheduling group. An autogroup has a task_group but no cgroup: its
 * css.cgroup is NULL.
 */
static inline enum fsw_group_kind fsw_group(const struct task_group *tg,
					    u64 *ret_id)
{
	*ret_id = 0;
	if (!tg)
		return FSW_GROUP_NONE;
	if (!tg->parent)
		return FSW_GROUP_ROOT;
#ifdef CONFIG_SCHED_AUTOGROUP
	if (tg->autogroup) {
		*ret_id = tg->autogroup->id;
		return FSW_GROUP_AUTOGROUP;
	}
#endif
	if (!tg->css.cgroup)
		return FSW_GROUP_NONE;
	*ret_id = tg->css.cgroup->kn->id;
	return FSW_GROUP_CGROUP;
}

/* Of the cfs_rq's own group. */
static inline const struct task_group *
fsw_cfs_rq_group(const struct cfs_rq *cfs_rq)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	return cfs_rq ? cfs_rq->tg : NULL;
#else
	return NULL;
#endif
}

static inline const struct cfs_rq *fsw_owned(const struct sched_entity *se)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	return se->my_q;
#else
	return NULL;
#endif
}

/* The group that the entity belongs to, wherever it is queued. */
static inline const struct cfs_rq *fsw_own_cfs_rq(const struct sched_entity *se)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	return se->cfs_rq;
#else
	return NULL;
#endif
}

/*
 * Copies what `se` is on `cfs_rq` now, whose average as of now the caller
 * knows. `to` has its tags already.
 */
void fsw_read_entity(struct fsw_entity *to, const struct fsw_average *average,
		     const struct cfs_rq *cfs_rq,
		     const struct sched_entity *se);

#endif /* FAIRSWITCH_READ_H */
