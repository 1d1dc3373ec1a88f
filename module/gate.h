/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate word: one per CPU, of the CPU whose runqueue is decided about.
 *
 *   63        32 31     24 23    19  18     17     16        15        0
 *   +------------+---------+--------+------+------+---------+---------+
 *   | generation | arm     | 0      | full | taps | hygiene | with    |
 *   +------------+---------+--------+------+------+---------+---------+
 *
 * Bit n of `with` is variant n's position. `taps`: somebody listens to the
 * decisions; `full`: and to what entities they are about. The word is only stored while that
 * runqueue's lock is held, and gates and taps only read it under the same
 * lock: no lock hold ever sees two arms.
 */
#ifndef FAIRSWITCH_GATE_H
#define FAIRSWITCH_GATE_H

#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <fairswitch/device.h>

#define FSW_WORD_WITH		0xffffULL
#define FSW_WORD_HYGIENE	(1ULL << 16)
#define FSW_WORD_TAPS		(1ULL << 17)
#define FSW_WORD_FULL		(1ULL << 18)
#define FSW_WORD_LISTENING	(FSW_WORD_TAPS | FSW_WORD_FULL)
#define FSW_WORD_ARM_SHIFT	24
#define FSW_WORD_ARM_MAX	255
#define FSW_WORD_GENERATION_SHIFT	32

DECLARE_PER_CPU(u64, fsw_gates);

static __always_inline u64 fsw_word(int cpu)
{
	return READ_ONCE(per_cpu(fsw_gates, cpu));
}

static inline u32 fsw_word_arm(u64 word)
{
	return (word >> FSW_WORD_ARM_SHIFT) & FSW_WORD_ARM_MAX;
}

static inline u32 fsw_word_generation(u64 word)
{
	return word >> FSW_WORD_GENERATION_SHIFT;
}

/* All words to stock, generation 0. Before the livepatch is enabled. */
void fsw_gate_init(void);

/*
 * Puts every runqueue under `set->arm`, one lock at a time, and records a Swap
 * for each. Fills the out members of set. Sleeps; one caller at a time.
 */
void fsw_gate_swap(struct fsw_set *set, enum fsw_swap_reason reason);

enum fsw_listener {
	FSW_LISTENER_RECORD,
	FSW_LISTENER_TRACE,
	FSW_LISTENER_COUNT,
};

/*
 * What a listener wants of the taps: 0, FSW_WORD_TAPS or FSW_WORD_LISTENING.
 * In force while the gates are open, in every word, under the locks.
 */
void fsw_gate_listen(enum fsw_listener listener, u64 wanted);

/* Patching is complete, or unpatching begins: then nobody hears anything. */
void fsw_gate_open(bool open);

/* The arm of the last swap. */
void fsw_gate_status(struct fsw_status *status);

#endif /* FAIRSWITCH_GATE_H */
