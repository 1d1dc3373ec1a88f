/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The producer's half of a ring: the kernel and the unit tests compile this
 * very code. The includer supplies, before including it:
 *
 *   FSW_LOAD_ACQUIRE(pointer)          of the consumer's tail
 *   FSW_STORE_RELEASE(pointer, value)  of the producer's head
 *   FSW_STORE(pointer, value)          a store that isn't torn (counters)
 *   FSW_MEMCPY(to, from, bytes)
 *
 * and `bool`. One ring has one producer at a time: in the kernel, code on the
 * ring's CPU with interrupts off.
 *
 *      tail                      head
 *       v                         v
 *   ----+-------------------------+----------------   both only grow; data is
 *       |  unread records         |  room             at (count & (bytes - 1))
 *   ----+-------------------------+----------------
 *
 * Nothing is published before it is whole: a Pad, a Lost and the record
 * itself become visible with one store of head.
 */
#ifndef FAIRSWITCH_RING_CORE_H
#define FAIRSWITCH_RING_CORE_H

#include <linux/types.h>

#include "uapi/fairswitch/device.h"

/* Out of line: else every record would pay for their room on the stack. */
#define FSW_RING_RARE	static __attribute__((__noinline__, __unused__))

/* What was dropped since the last Lost record. */
struct fsw_ring_loss {
	bool pending;
	__u64 first_ns;
	__u64 last_ns;
	__u32 by_kind[FSW_KIND_COUNT];
};

struct fsw_ring {
	struct fsw_ring_producer *producer;	/* only this side writes it */
	struct fsw_ring_consumer *consumer;	/* never believed */
	__u8 *data;
	__u64 bytes;	/* a power of two */
	__u64 head;
	__u64 tail;	/* copy of the last believable tail: reloaded only when it matters */
	__u64 due;	/* the reader isn't woken again before head is here */
	bool overwrite;	/* then tail is the oldest record's, and loss tells of freezes */
	struct fsw_ring_loss loss;
};

/* The three areas are the caller's, zeroed, and outlive the ring. */
static inline void fsw_ring_init(struct fsw_ring *ring,
				 struct fsw_ring_producer *producer,
				 struct fsw_ring_consumer *consumer,
				 void *data, __u64 bytes, __u32 cpu)
{
	static const struct fsw_ring_loss none = {};

	ring->producer = producer;
	ring->consumer = consumer;
	ring->data = (__u8 *)data;
	ring->bytes = bytes;
	ring->head = 0;
	ring->tail = 0;
	ring->due = 0;
	ring->overwrite = false;
	ring->loss = none;
	producer->magic = FSW_RING_MAGIC;
	producer->abi = FSW_ABI;
	producer->cpu = cpu;
	producer->ring_bytes = bytes;
}

/* Bytes left before the ring's end, at a head. */
static inline __u64 fsw_ring_left(const struct fsw_ring *ring, __u64 head)
{
	return ring->bytes - (head & (ring->bytes - 1));
}

/* Where head is once a record of `bytes` stands behind it, Pad included. */
static inline __u64 fsw_ring_after(const struct fsw_ring *ring, __u64 head,
				   __u64 bytes)
{
	__u64 left = fsw_ring_left(ring, head);

	return head + (left < bytes ? left : 0) + bytes;
}

/*
 * False if the reader's tail can't be: beyond head, or more than a ring
 * behind. User space wrote nonsense, and the ring stays as full as it looks.
 */
static inline bool fsw_ring_reload_tail(struct fsw_ring *ring)
{
	__u64 tail = FSW_LOAD_ACQUIRE(&ring->consumer->tail);	/* A */

	if (tail > ring->head || ring->head - tail > ring->bytes)
		return false;
	ring->tail = tail;
	return true;
}

static inline bool fsw_ring_has_room(struct fsw_ring *ring, __u64 end)
{
	if (end - ring->tail <= ring->bytes)
		return true;
	return fsw_ring_reload_tail(ring) && end - ring->tail <= ring->bytes;
}

/*
 * Whether to wake the reader: more than `watermark` bytes are unread. Says so
 * once per `watermark` bytes at most, and looks at the reader's page no more
 * often, so a record costs neither a cache miss nor an interrupt.
 */
static inline bool fsw_ring_reader_due(struct fsw_ring *ring, __u64 watermark)
{
	if (ring->head < ring->due || ring->head - ring->tail <= watermark)
		return false;
	ring->due = ring->head + watermark;
	fsw_ring_reload_tail(ring);
	return ring->head - ring->tail > watermark;
}

/* `bytes` is a multiple of 8 and at least 8. */
FSW_RING_RARE void fsw_ring_pad(const struct fsw_ring *ring, __u64 head,
				__u32 bytes)
{
	struct fsw_pad_head pad = {
		.frame = {
			.record_len = FSW_VARINT2(bytes - 2),
			.kind_tag = (FSW_KIND_PAD << 3) | 2,
			.kind_len = FSW_VARINT2(bytes - sizeof(struct fsw_frame)),
		},
		.fill_tag = FSW_TAG_VOID,
		.fill_len = FSW_VARINT2(bytes - sizeof(struct fsw_pad_head)),
	};

	FSW_MEMCPY(ring->data + (head & (ring->bytes - 1)), &pad, sizeof(pad));
}

/* Copies a record behind `head`, with a Pad if it would straddle the end. */
static inline __u64 fsw_ring_store(const struct fsw_ring *ring, __u64 head,
				   const void *record, __u32 bytes)
{
	__u64 left = fsw_ring_left(ring, head);

	if (left < bytes) {
		fsw_ring_pad(ring, head, (__u32)left);
		head += left;
	}
	FSW_MEMCPY(ring->data + (head & (ring->bytes - 1)), record, bytes);
	return head + bytes;
}

/* `record` lends its stamp: frame and stamp lie alike in all. */
FSW_RING_RARE __u64 fsw_ring_store_lost(struct fsw_ring *ring, __u64 head,
					const void *record)
{
	struct fsw_marker_record first;	/* the shortest */
	static const struct fsw_lost_record empty =
		FSW_RECORD_TEMPLATE(FSW_KIND_LOST, lost, LOST);
	static const struct fsw_ring_loss none = {};
	struct fsw_lost_record lost = empty;
	const __u32 *by_kind = ring->loss.by_kind;

	FSW_MEMCPY(&first, record, sizeof(first));
	lost.body.stamp = first.body.stamp;
	lost.body.stamp.seq = 0;
	lost.body.first_ns = ring->loss.first_ns;
	lost.body.last_ns = ring->loss.last_ns;
	lost.body.decisions = by_kind[FSW_KIND_DECISION] + by_kind[FSW_KIND_BRIEF];
	lost.body.requeues = by_kind[FSW_KIND_REQUEUE];
	lost.body.delays = by_kind[FSW_KIND_DELAY];
	lost.body.wakes = by_kind[FSW_KIND_WAKE];
	lost.body.switches = by_kind[FSW_KIND_SWITCH];
	lost.body.tasks = by_kind[FSW_KIND_TASK];
	lost.body.swaps = by_kind[FSW_KIND_SWAP];
	lost.body.markers = by_kind[FSW_KIND_MARKER];
	ring->loss = none;
	return fsw_ring_store(ring, head, &lost, sizeof(lost));
}

FSW_RING_RARE void fsw_ring_drop(struct fsw_ring *ring, unsigned int kind,
				 __u64 time_ns)
{
	__u64 *dropped = &ring->producer->dropped[kind];

	if (!ring->loss.pending)
		ring->loss.first_ns = time_ns;
	ring->loss.pending = true;
	ring->loss.last_ns = time_ns;
	ring->loss.by_kind[kind]++;
	FSW_STORE(dropped, *dropped + 1);
}

/* While frozen: counted, with the times in the producer's page. */
FSW_RING_RARE void fsw_ring_refuse(struct fsw_ring *ring, unsigned int kind,
				   __u64 time_ns)
{
	struct fsw_ring_producer *producer = ring->producer;
	__u64 *produced = &producer->produced[kind & (FSW_KIND_COUNT - 1)];
	__u64 *dropped = &producer->dropped[kind & (FSW_KIND_COUNT - 1)];

	FSW_STORE(produced, *produced + 1);
	FSW_STORE(dropped, *dropped + 1);
	if (!ring->loss.pending)
		FSW_STORE(&producer->lost_first_ns, time_ns);
	ring->loss.pending = true;
	FSW_STORE(&producer->lost_last_ns, time_ns);
}

/*
 * Gives up whole records, the oldest first, until `end` fits. Nobody but this
 * side can have written their lengths.
 */
static inline void fsw_ring_make_room(struct fsw_ring *ring, __u64 end)
{
	while (end - ring->tail > ring->bytes) {
		const __u8 *old = ring->data + (ring->tail & (ring->bytes - 1));
		unsigned int kind = old[2] >> 3 & (FSW_KIND_COUNT - 1);
		__u64 *overwritten = &ring->producer->overwritten[kind];

		ring->tail += 2 + ((old[0] & 0x7f) | (__u64)old[1] << 7);
		if (kind != FSW_KIND_PAD)
			FSW_STORE(overwritten, *overwritten + 1);
	}
	FSW_STORE(&ring->producer->oldest, ring->tail);
}

/* Never without room, unless the record is longer than the ring can take. */
static inline bool fsw_ring_put_over(struct fsw_ring *ring, const void *record,
				     __u32 bytes, unsigned int kind,
				     __u64 time_ns)
{
	__u64 *produced = &ring->producer->produced[kind & (FSW_KIND_COUNT - 1)];
	__u64 end = fsw_ring_after(ring, ring->head, bytes);

	if (end - ring->head > ring->bytes) {
		fsw_ring_refuse(ring, kind, time_ns);
		return false;
	}
	FSW_STORE(produced, *produced + 1);
	fsw_ring_make_room(ring, end);
	ring->head = fsw_ring_store(ring, ring->head, record, bytes);
	FSW_STORE_RELEASE(&ring->producer->head, ring->head);	/* B */
	return true;
}

/* Forgets what an overwriting ring holds. No writer stores meanwhile. */
static inline void fsw_ring_empty(struct fsw_ring *ring)
{
	ring->tail = ring->head;
	FSW_STORE(&ring->producer->oldest, ring->tail);
}

/*
 * Offers a record of one of FSW_KINDS, of `bytes` (a multiple of 8). Returns
 * false if it was dropped for want of room. If records were dropped before, a
 * Lost goes in front, and only together with the record: else a ring that is
 * all but full would fill with Losts. The Lost carries the stamp of the
 * record behind it, seq excepted.
 */
static inline bool fsw_ring_put(struct fsw_ring *ring, const void *record,
				__u32 bytes, unsigned int kind, __u64 time_ns)
{
	__u64 *produced = &ring->producer->produced[kind & (FSW_KIND_COUNT - 1)];
	__u64 head = ring->head;
	__u64 end = head;

	kind &= FSW_KIND_COUNT - 1;
	FSW_STORE(produced, *produced + 1);
	if (ring->loss.pending)
		end = fsw_ring_after(ring, end, sizeof(struct fsw_lost_record));
	end = fsw_ring_after(ring, end, bytes);
	if (!fsw_ring_has_room(ring, end)) {
		fsw_ring_drop(ring, kind, time_ns);
		return false;
	}
	if (ring->loss.pending)
		head = fsw_ring_store_lost(ring, head, record);
	head = fsw_ring_store(ring, head, record, bytes);
	ring->head = head;
	FSW_STORE_RELEASE(&ring->producer->head, head);	/* B */
	return true;
}

#endif /* FAIRSWITCH_RING_CORE_H */
