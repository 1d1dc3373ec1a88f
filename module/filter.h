/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which decisions, requeues and delays are recorded. What is left out is
 * counted per CPU and kind, is not produced and takes no sequence number.
 */
#ifndef FAIRSWITCH_FILTER_H
#define FAIRSWITCH_FILTER_H

#include <linux/compiler.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include <fairswitch/device.h>

struct rq;
struct sched_entity;
struct task_struct;

/* Session side; sleeps, one caller at a time. All zero: no filter. */
int fsw_filter_change(const struct fsw_filter *filter);
void fsw_filter_exit(void);

/* NULL: nothing is left out. Read with interrupts off; one test when unused. */
extern struct fsw_filter __rcu *fsw_filter;

bool __fsw_filter_passes_task(const struct rq *rq, const struct task_struct *p,
			      enum fsw_kind kind);
bool __fsw_filter_passes_entity(const struct rq *rq,
				const struct sched_entity *se,
				enum fsw_kind kind);
bool __fsw_filter_passes_path(enum fsw_path path);

/* A decision about p; before its path is known. */
static __always_inline bool fsw_filter_passes_task(const struct rq *rq,
						   const struct task_struct *p,
						   enum fsw_kind kind)
{
	return likely(!rcu_access_pointer(fsw_filter)) ||
	       __fsw_filter_passes_task(rq, p, kind);
}

/* A requeue or delay of se. */
static __always_inline bool fsw_filter_passes_entity(const struct rq *rq,
						     const struct sched_entity *se,
						     enum fsw_kind kind)
{
	return likely(!rcu_access_pointer(fsw_filter)) ||
	       __fsw_filter_passes_entity(rq, se, kind);
}

static __always_inline bool fsw_filter_passes_path(enum fsw_path path)
{
	return likely(!rcu_access_pointer(fsw_filter)) ||
	       __fsw_filter_passes_path(path);
}

#endif /* FAIRSWITCH_FILTER_H */
