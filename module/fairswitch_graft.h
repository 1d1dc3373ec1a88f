/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the grafted fair.c sees: gates and taps. Included at the end of
 * fair.c's includes, so struct rq and friends are known.
 *
 * With FSW_FOLD defined every gate is a constant (its stock position unless
 * FSW_FOLD_<ID> says otherwise) and every tap is empty: that object must equal
 * the stock one, which is the proof that arm 0 is stock.
 */
#ifndef FAIRSWITCH_GRAFT_H
#define FAIRSWITCH_GRAFT_H

#include "fairswitch_variants.h"	/* generated: FSW_V_*, FSW_STOCK_*, FSW_FOLD_* */

#ifdef FSW_FOLD

/*
 * v is FSW_V_<ID>, a number by the time it is seen here: FSW_FOLD_WORD has one
 * bit per variant, like the gate word. Hygiene is on where lag-clamp is turned.
 */
#define fsw_with(rq, v)		((FSW_FOLD_WORD >> (v)) & 1)
#ifdef FSW_V_LAG_CLAMP
#define fsw_hygiene(rq)		(FSW_FOLD_LAG_CLAMP != FSW_STOCK_LAG_CLAMP)
#else
#define fsw_hygiene(rq)		0
#endif

#define fsw_tap_enter(rq, p, wake_flags)		do { } while (0)
#define fsw_tap_compare(rq, cfs_rq, se, pse)		do { } while (0)
#define fsw_tap_short_cancel(rq)			do { } while (0)
#define fsw_tap_preempt_path(rq, path)			do { } while (0)
#define fsw_tap_keep_path(rq, path)			do { } while (0)
#define fsw_tap_short(rq)				do { } while (0)
#define fsw_tap_short_nominee(rq, is_next)		do { } while (0)
#define fsw_tap_short_buddy(rq, is_next)		do { } while (0)
#define fsw_tapped(rq, cfs_rq, pick)			(pick)
#define fsw_tapped_pick(rq, cfs_rq, stock, pick, dequeue)	(stock)
#define fsw_tap_picked(rq, cfs_rq, se)			do { } while (0)
#define fsw_tap_dequeue_delayed(rq, se)			do { } while (0)
#define fsw_tap_leave(rq, p, path)			do { } while (0)
#define fsw_tap_requeue_enter(cfs_rq, se)		do { } while (0)
#define fsw_tap_requeue_lag(cfs_rq, se)			do { } while (0)
#define fsw_tap_requeue_clock(cfs_rq)			do { } while (0)
#define fsw_tap_lag_clamp(cfs_rq, raises)		do { } while (0)
#define fsw_tap_requeue_leave(cfs_rq, se)		do { } while (0)
#define fsw_tap_delay_enter(cfs_rq, se, flags)		do { } while (0)
#define fsw_tap_delay_leave(cfs_rq, se)			do { } while (0)

#else

#include "gate.h"
#include "tap.h"

#define fsw_with(rq, v)		((fsw_word(cpu_of(rq)) >> (v)) & 1)
#define fsw_hygiene(rq)		(!!(fsw_word(cpu_of(rq)) & FSW_WORD_HYGIENE))

/* Off is one load and one test; the work is out of line. */
#define FSW_TAP_IF(rq, wanted, call)				\
	do {							\
		if (unlikely(fsw_word(cpu_of(rq)) & (wanted)))	\
			__##call;				\
	} while (0)

/* Any listener wants these. */
#define FSW_TAP(rq, call)	FSW_TAP_IF(rq, FSW_WORD_TAPS, call)
/* These tell of entities. */
#define FSW_TAP_FULL(rq, call)	FSW_TAP_IF(rq, FSW_WORD_FULL, call)

#define fsw_tap_enter(rq, p, wake_flags)			\
	do {							\
		this_cpu_inc(fsw_decisions);			\
		FSW_TAP(rq, fsw_tap_enter(rq, p, wake_flags));	\
	} while (0)
#define fsw_tap_compare(rq, cfs_rq, se, pse)	FSW_TAP_FULL(rq, fsw_tap_compare(rq, cfs_rq, se, pse))
#define fsw_tap_short_cancel(rq)		FSW_TAP_FULL(rq, fsw_tap_short_cancel())
#define fsw_tap_preempt_path(rq, path)		FSW_TAP(rq, fsw_tap_preempt_path(path))
#define fsw_tap_keep_path(rq, path)		FSW_TAP(rq, fsw_tap_keep_path(path))
#define fsw_tap_short(rq)			FSW_TAP_FULL(rq, fsw_tap_short())
#define fsw_tap_short_nominee(rq, is_next)	FSW_TAP_FULL(rq, fsw_tap_short_nominee(is_next))
#define fsw_tap_short_buddy(rq, is_next)	FSW_TAP_FULL(rq, fsw_tap_short_buddy(is_next))
#define fsw_tap_picked(rq, cfs_rq, se)		FSW_TAP(rq, fsw_tap_picked(cfs_rq, se))
#define fsw_tap_dequeue_delayed(rq, se)		FSW_TAP_FULL(rq, fsw_tap_dequeue_delayed(se))
#define fsw_tap_leave(rq, p, path)		FSW_TAP(rq, fsw_tap_leave(rq, p, path))
#define fsw_tap_requeue_enter(cfs_rq, se)	FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_requeue_enter(cfs_rq, se))
#define fsw_tap_requeue_lag(cfs_rq, se)		FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_requeue_lag(cfs_rq, se))
#define fsw_tap_requeue_clock(cfs_rq)		FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_requeue_clock(cfs_rq))
#define fsw_tap_lag_clamp(cfs_rq, raises)	FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_lag_clamp(raises))
#define fsw_tap_requeue_leave(cfs_rq, se)	FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_requeue_leave(cfs_rq, se))
#define fsw_tap_delay_enter(cfs_rq, se, flags)	FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_delay_enter(cfs_rq, se, flags))
#define fsw_tap_delay_leave(cfs_rq, se)		FSW_TAP_FULL(rq_of(cfs_rq), fsw_tap_delay_leave(cfs_rq, se))

/* A pick whose result is recorded. */
#define fsw_tapped(rq, cfs_rq, pick)				\
	({							\
		struct sched_entity *fsw_se = (pick);		\
								\
		fsw_tap_picked(rq, cfs_rq, fsw_se);		\
		fsw_se;						\
	})

/*
 * pick_next_entity() taken apart: its pick, and its dequeue of a delayed pick
 * (named fsw_se), so that the entity is copied in between.
 */
#define fsw_tapped_pick(rq, cfs_rq, stock, pick, dequeue)	\
	({							\
		struct sched_entity *fsw_se = (pick);		\
								\
		fsw_tap_picked(rq, cfs_rq, fsw_se);		\
		if (fsw_se->sched_delayed) {			\
			fsw_tap_dequeue_delayed(rq, fsw_se);	\
			dequeue;				\
			fsw_se = NULL;				\
		}						\
		fsw_se;						\
	})

#endif

#include "fairswitch_helpers.h"	/* generated: includes variants/ID/helpers.h */

#endif /* FAIRSWITCH_GRAFT_H */
