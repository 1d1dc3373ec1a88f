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
#define fsw_tap_short_buddy(rq, is_next)		do { } while (0)
#define fsw_tap_picked(rq, cfs_rq, se)			do { } while (0)
#define fsw_tap_dequeue_delayed(rq, se)			do { } while (0)
#define fsw_tap_leave(rq, p, path)			do { } while (0)
#define fsw_tap_requeue_enter(cfs_rq, se)		do { } while (0)
#define fsw_tap_requeue_lag(cfs_rq, se)			do { } while (0)
#define fsw_tap_requeue_clamped(cfs_rq)			do { } while (0)
#define fsw_tap_requeue_leave(cfs_rq, se)		do { } while (0)
#define fsw_tap_delay_enter(cfs_rq, se, flags)		do { } while (0)
#define fsw_tap_delay_clamped(cfs_rq)			do { } while (0)
#define fsw_tap_delay_leave(cfs_rq, se)			do { } while (0)

#else

#include "gate.h"
#include "tap.h"

#define fsw_with(rq, v)		((fsw_word(cpu_of(rq)) >> (v)) & 1)
#define fsw_hygiene(rq)		(!!(fsw_word(cpu_of(rq)) & FSW_WORD_HYGIENE))

/* Off is one load and one test; the work is out of line. */
#define FSW_TAP(rq, call)					\
	do {							\
		if (unlikely(fsw_word(cpu_of(rq)) & FSW_WORD_RECORDING))	\
			__##call;				\
	} while (0)

#define fsw_tap_enter(rq, p, wake_flags)			\
	do {							\
		this_cpu_inc(fsw_decisions);			\
		FSW_TAP(rq, fsw_tap_enter(rq, p, wake_flags));	\
	} while (0)
#define fsw_tap_compare(rq, cfs_rq, se, pse)	FSW_TAP(rq, fsw_tap_compare(rq, cfs_rq, se, pse))
#define fsw_tap_short_cancel(rq)		FSW_TAP(rq, fsw_tap_short_cancel())
#define fsw_tap_preempt_path(rq, path)		FSW_TAP(rq, fsw_tap_preempt_path(path))
#define fsw_tap_short_buddy(rq, is_next)	FSW_TAP(rq, fsw_tap_short_buddy(is_next))
#define fsw_tap_picked(rq, cfs_rq, se)		FSW_TAP(rq, fsw_tap_picked(cfs_rq, se))
#define fsw_tap_dequeue_delayed(rq, se)		FSW_TAP(rq, fsw_tap_dequeue_delayed(se))
#define fsw_tap_leave(rq, p, path)		FSW_TAP(rq, fsw_tap_leave(rq, p, path))
#define fsw_tap_requeue_enter(cfs_rq, se)	FSW_TAP(rq_of(cfs_rq), fsw_tap_requeue_enter(cfs_rq, se))
#define fsw_tap_requeue_lag(cfs_rq, se)		FSW_TAP(rq_of(cfs_rq), fsw_tap_requeue_lag(cfs_rq, se))
#define fsw_tap_requeue_clamped(cfs_rq)		FSW_TAP(rq_of(cfs_rq), fsw_tap_requeue_clamped())
#define fsw_tap_requeue_leave(cfs_rq, se)	FSW_TAP(rq_of(cfs_rq), fsw_tap_requeue_leave(cfs_rq, se))
#define fsw_tap_delay_enter(cfs_rq, se, flags)	FSW_TAP(rq_of(cfs_rq), fsw_tap_delay_enter(cfs_rq, se, flags))
#define fsw_tap_delay_clamped(cfs_rq)		FSW_TAP(rq_of(cfs_rq), fsw_tap_delay_clamped())
#define fsw_tap_delay_leave(cfs_rq, se)		FSW_TAP(rq_of(cfs_rq), fsw_tap_delay_leave(cfs_rq, se))

#endif

/*
 * The lag that was stored when se was delayed, or 0: nothing stored. Only
 * under hygiene does vlag of a delayed entity hold such a thing.
 */
#define fsw_stored_lag(cfs_rq, se)	(fsw_hygiene(rq_of(cfs_rq)) ? (se)->vlag : 0)

#endif /* FAIRSWITCH_GRAFT_H */
