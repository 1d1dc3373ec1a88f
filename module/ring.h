/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One ring per possible CPU. Ring n is written only by code on CPU n with
 * interrupts off. uapi/fairswitch/device.h has the layout and the barriers.
 */
#ifndef FAIRSWITCH_RING_H
#define FAIRSWITCH_RING_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/poll.h>
#include <linux/types.h>

#include <fairswitch/device.h>

int fsw_ring_create(void);
/* No writer may be left: recording off, probes gone, synchronize_rcu() done. */
void fsw_ring_destroy(void);

u64 fsw_ring_size(void);

/* Empties every ring and its books. Same caller's duty as for destroy. */
void fsw_ring_reset(void);

/* Kinds to record, bits of enum fsw_kind. */
void fsw_ring_set_kinds(u32 kinds);

extern u32 fsw_kinds;

static __always_inline u32 fsw_ring_kinds(void)
{
	return READ_ONCE(fsw_kinds);
}

static __always_inline bool fsw_ring_wants(enum fsw_kind kind)
{
	return fsw_ring_kinds() & BIT(kind);
}

/*
 * Finishes and publishes a record: stamps it with this CPU, `rq_cpu` and the
 * arm in force there, and `seq` when rq_locked. Interrupts are off.
 * body.stamp.time_ns is the caller's.
 */
void __fsw_ring_publish(void *record, u32 bytes, enum fsw_kind kind, int rq_cpu,
			bool rq_locked);

static __always_inline void fsw_ring_publish(void *record, u32 bytes,
					     enum fsw_kind kind, int rq_cpu,
					     bool rq_locked)
{
	if (fsw_ring_wants(kind))
		__fsw_ring_publish(record, bytes, kind, rq_cpu, rq_locked);
}

/* A record of this kind was left out by the filter. Interrupts are off. */
void __fsw_ring_filtered(enum fsw_kind kind);

static __always_inline void fsw_ring_filtered(enum fsw_kind kind)
{
	if (fsw_ring_wants(kind))
		__fsw_ring_filtered(kind);
}

u64 fsw_ring_filtered_sum(void);

/*
 * Overwriting rings, for the flight recorder: empties them. No writer may be
 * left, as for destroy.
 */
void fsw_ring_set_overwrite(bool on);
/* From its return on nothing is stored: what comes is counted as dropped. */
void fsw_ring_freeze(void);
/* Stores again, in empty rings. */
void fsw_ring_thaw(void);
bool fsw_ring_frozen(void);
void fsw_ring_wake_readers(void);

int fsw_ring_mmap(struct vm_area_struct *vma);
__poll_t fsw_ring_poll(struct file *file, poll_table *wait);

#endif /* FAIRSWITCH_RING_H */
