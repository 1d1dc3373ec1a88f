/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels of the hand-written code. Whatever stands in
 * fair.c itself is adapted to by semantic patches, not here.
 *
 * Included behind the kernel's private sched.h.
 */
#ifndef FAIRSWITCH_COMPAT_H
#define FAIRSWITCH_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* 7.3: hrtimer.h no longer brings struct hrtimer_clock_base along. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#include <linux/hrtimer_bases.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0) && \
	 LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "fairswitch: the fields of cfs_rq and sched_entity are known for Linux 6.12, 7.2 and 7.3 only"
#endif

/* 7.2: the weighted sums of a cfs_rq were renamed and can be shifted down. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define fsw_sum_of(cfs_rq)		((cfs_rq)->avg_vruntime)
#define fsw_sum_weight_of(cfs_rq)	((cfs_rq)->avg_load)
#define fsw_nr_queued(cfs_rq)		((cfs_rq)->nr_running)
typedef s64 fsw_product;	/* the kernel multiplies in 64 bits */
#else
#define fsw_sum_of(cfs_rq)		((cfs_rq)->sum_w_vruntime)
#define fsw_sum_weight_of(cfs_rq)	((cfs_rq)->sum_weight)
typedef __int128 fsw_product;
#endif

/*
 * 7.3: one flat runqueue. Entities of tasks only, weighted with h_load, all on
 * the root cfs_rq, whose nr_queued counts its direct children.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
#define fsw_load_of(se)			((se)->load)
#define fsw_searched(rq, se)		((se)->cfs_rq)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define fsw_nr_queued(cfs_rq)		((cfs_rq)->nr_queued)
#endif
#else
#define fsw_load_of(se)			((se)->h_load)
#define fsw_searched(rq, se)		(&(rq)->cfs)
#define fsw_nr_queued(cfs_rq)		((cfs_rq)->h_nr_queued)
#endif

/*
 * Whether a scheduler feature is on, from code that isn't patched by jump
 * labels: a key where the kernel has them, else a bit. 6.12 has keys with
 * SCHED_DEBUG only, which later kernels always have.
 */
#if defined(CONFIG_JUMP_LABEL) && \
	(defined(CONFIG_SCHED_DEBUG) || LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0))
#define fsw_feature(x)	static_key_enabled(&sched_feat_keys[__SCHED_FEAT_##x])
#else
#define fsw_feature(x)	sched_feat(x)
#endif

/* The weight as the sums count it. */
static inline u64 fsw_sum_weight(const struct cfs_rq *cfs_rq,
				 const struct sched_entity *se)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return scale_load_down(fsw_load_of(se).weight);
#else
	u64 weight = fsw_load_of(se).weight;

	return cfs_rq->sum_shift ? max(2ULL, weight >> cfs_rq->sum_shift) : weight;
#endif
}

/* calc_delta_fair(): since 7.2 the weight isn't rounded to that of nice 0. */
static inline u64 fsw_delta_fair(u64 delta, u64 weight)
{
	if (weight == NICE_0_LOAD)
		return delta;
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return div64_u64(delta * scale_load_down(NICE_0_LOAD),
			 max(scale_load_down(weight), 1UL));
#else
	return div64_u64(delta * NICE_0_LOAD, max(weight, 1ULL));
#endif
}

/* The slice part of entity_lag()'s limit. */
static inline u64 fsw_lag_limit(const struct cfs_rq *cfs_rq,
				const struct sched_entity *se)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return max_t(u64, 2 * se->slice, TICK_NSEC);
#else
	const struct rb_node *root = cfs_rq->tasks_timeline.rb_root.rb_node;
	u64 longest = 0;

	if (cfs_rq->curr && cfs_rq->curr->on_rq)
		longest = cfs_rq->curr->slice;
	if (root)
		longest = max(longest, rb_entry(root, struct sched_entity,
						run_node)->max_slice);
	return longest + TICK_NSEC;
#endif
}

/* protect_slice(): before 7.2 a copy of the deadline in vlag. */
static inline bool fsw_protected(const struct sched_entity *se)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return se->vlag == se->deadline;
#else
	return (s64)(se->vruntime - se->vprot) < 0;
#endif
}

/*
 * Before 7.2 vlag of a delayed entity holds its lag only under the hygiene
 * rule (variants/lag-clamp/forward.cocci); since then always.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define FSW_HYGIENE_NEEDED	1
#else
#define FSW_HYGIENE_NEEDED	0
#endif

/* 6.15: hrtimer.function became private. */
static inline void *fsw_timer_function(const struct hrtimer *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return timer->function;
#else
	return ACCESS_PRIVATE(timer, function);
#endif
}

/* 7.2: hrtimer_expire_entry passes the time by value. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define FSW_EXPIRE_NOW	ktime_t *now
#else
#define FSW_EXPIRE_NOW	ktime_t now
#endif

/* A reschedule that waits for the tick or the way out of the kernel. */
static inline bool fsw_resched_lazy(struct task_struct *p)
{
#if defined(TIF_NEED_RESCHED_LAZY) && defined(CONFIG_PREEMPT_LAZY)
	return test_tsk_thread_flag(p, TIF_NEED_RESCHED_LAZY);
#else
	return false;
#endif
}

#endif /* FAIRSWITCH_COMPAT_H */
