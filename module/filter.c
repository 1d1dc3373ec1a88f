// SPDX-License-Identifier: GPL-2.0
#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "read.h"
#include "filter.h"
#include "ring.h"

struct fsw_filter __rcu *fsw_filter __read_mostly;

/* Candidates seen on this CPU, of each kind: every Nth is recorded. */
static DEFINE_PER_CPU(u32, fsw_candidates[FSW_KIND_COUNT]);

/* Interrupts are off: what is replaced is freed only afterwards. */
static const struct fsw_filter *fsw_filter_get(void)
{
	return rcu_dereference_sched(fsw_filter);
}

static bool fsw_cpu_passes(const struct fsw_filter *filter, int cpu)
{
	static const u64 all[FSW_FILTER_CPU_WORDS];

	if (!memcmp(filter->cpus, all, sizeof(all)))
		return true;
	if (cpu >= FSW_FILTER_CPU_WORDS * 64)
		return false;
	return filter->cpus[cpu / 64] >> (cpu % 64) & 1;
}

/* The task's cgroup of the unified hierarchy, or one above it. */
static bool fsw_in_cgroup(const struct task_struct *p, u64 id)
{
	struct cgroup *cgroup = task_css_set_check((struct task_struct *)p, true)->dfl_cgrp;

	for (; cgroup; cgroup = cgroup_parent(cgroup))
		if (cgroup_id(cgroup) == id)
			return true;
	return false;
}

static bool fsw_task_passes(const struct fsw_filter *filter,
			    const struct task_struct *p)
{
	if (filter->pid && p->pid != filter->pid)
		return false;
	if (filter->tgid && p->tgid != filter->tgid)
		return false;
	if (filter->comm[0] && strncmp(p->comm, filter->comm, FSW_COMM_BYTES))
		return false;
	return !filter->cgroup || fsw_in_cgroup(p, filter->cgroup);
}

static bool fsw_names_a_task(const struct fsw_filter *filter)
{
	return filter->pid || filter->tgid || filter->comm[0] || filter->cgroup;
}

static bool fsw_sampled(const struct fsw_filter *filter, enum fsw_kind kind)
{
	if (filter->sample <= 1)
		return true;
	return this_cpu_inc_return(fsw_candidates[kind]) % filter->sample == 0;
}

bool __fsw_filter_passes_task(const struct rq *rq, const struct task_struct *p,
			      enum fsw_kind kind)
{
	const struct fsw_filter *filter = fsw_filter_get();

	if (!filter)
		return true;
	if (!fsw_cpu_passes(filter, cpu_of((struct rq *)rq)) ||
	    !fsw_task_passes(filter, p))
		return false;
	if (filter->short_slice && p->se.slice >= rq->donor->se.slice)
		return false;
	/* A path filter samples what it lets through, once the path is known. */
	return filter->paths || fsw_sampled(filter, kind);
}

bool __fsw_filter_passes_entity(const struct rq *rq,
				const struct sched_entity *se,
				enum fsw_kind kind)
{
	const struct fsw_filter *filter = fsw_filter_get();

	if (!filter)
		return true;
	if (!fsw_cpu_passes(filter, cpu_of((struct rq *)rq)))
		return false;
	if (!entity_is_task(se) ? fsw_names_a_task(filter) :
	    !fsw_task_passes(filter, container_of(se, struct task_struct, se)))
		return false;
	return fsw_sampled(filter, kind);
}

bool __fsw_filter_passes_path(enum fsw_path path)
{
	const struct fsw_filter *filter = fsw_filter_get();

	if (!filter || !filter->paths)
		return true;
	return filter->paths & BIT(path) &&
	       fsw_sampled(filter, FSW_KIND_DECISION);
}

static bool fsw_filter_valid(const struct fsw_filter *filter)
{
	return filter->short_slice <= 1 && !filter->reserved &&
	       !(filter->paths & ~FSW_ALL_PATHS);
}

int fsw_filter_change(const struct fsw_filter *filter)
{
	static const struct fsw_filter none;
	struct fsw_filter *new = NULL;
	struct fsw_filter *old;

	if (!fsw_filter_valid(filter))
		return -EINVAL;
	if (memcmp(filter, &none, sizeof(none))) {
		new = kmemdup(filter, sizeof(*filter), GFP_KERNEL);
		if (!new)
			return -ENOMEM;
	}
	old = rcu_replace_pointer(fsw_filter, new, true);
	synchronize_rcu();
	kfree(old);
	return 0;
}

void fsw_filter_exit(void)
{
	/* No tap is left. */
	kfree(rcu_dereference_protected(fsw_filter, true));
}
