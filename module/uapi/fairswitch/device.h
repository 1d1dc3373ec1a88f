/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/fairswitch: rings and ioctls.
 *
 * Rings. There is one per possible CPU, reached by mmap at
 * fsw_ring_offset(cpu, area):
 *
 *   FSW_AREA_CONSUMER  one page, shared, writable: struct fsw_ring_consumer
 *   FSW_AREA_PRODUCER  one page + ring_bytes, read-only for good:
 *                      struct fsw_ring_producer, then the data
 *
 * head and tail count bytes since the ring was made and only grow; a position
 * is (count & (ring_bytes - 1)). The producer drops the newest record when it
 * doesn't fit, counts it, and writes a Lost record in place once there is
 * room. A tail that can't be (beyond head, or more than ring_bytes behind) is
 * read as "full": it harms only the reader that wrote it.
 *
 * With a trigger (FSW_IOC_TRIGGER) the rings overwrite their oldest records
 * instead, and tail means nothing: what is left begins at `oldest`. They are
 * read only while frozen (EPOLLPRI): a writer either saw the freeze and drops
 * its record, or was done before the freeze was told. There is no Lost record:
 * lost_first_ns and lost_last_ns tell when the ring dropped since it was armed.
 *
 *   kernel, CPU n, interrupts off          user space
 *   ------------------------------         --------------------------------
 *   load tail (when it looks full)         load head
 *     A: acquire, pairs with D               C: acquire, pairs with B
 *   write record                           read records
 *   store head                             store tail
 *     B: release, pairs with C               D: release, pairs with A
 */
#ifndef FAIRSWITCH_UAPI_DEVICE_H
#define FAIRSWITCH_UAPI_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "record.h"

#define FSW_DEVICE_PATH		"/dev/fairswitch"
#define FSW_RING_MAGIC		0x31474e4952575346ULL	/* "FSWRING1" */
#define FSW_ABI			2	/* raised on an incompatible change */
#define FSW_ID_BYTES		32
#define FSW_MAX_VARIANTS	16

enum fsw_area {
	FSW_AREA_CONSUMER = 0,
	FSW_AREA_PRODUCER = 1,
};

/* mmap offset of an area of a CPU's ring, in bytes. */
#define fsw_ring_offset(cpu, area)	\
	((((__u64)(cpu)) << 32) | ((__u64)(area) << 31))

struct fsw_ring_consumer {
	__u64 tail;
	__u64 reserved[7];
};

struct fsw_ring_producer {
	__u64 magic;
	__u32 abi;
	__u32 cpu;
	__u64 ring_bytes;	/* a power of two */
	__u64 head;
	__u64 produced[FSW_KIND_COUNT];	/* records offered, by kind; Pad and Lost excluded */
	__u64 dropped[FSW_KIND_COUNT];	/* of these, not stored */
	__u64 filtered[FSW_KIND_COUNT];	/* not offered: the filter left them out */
	/* With a trigger only: */
	__u64 oldest;
	__u64 overwritten[FSW_KIND_COUNT];	/* stored, then overwritten */
	__u64 lost_first_ns;
	__u64 lost_last_ns;
	__u64 reserved[5];
};

/* enum fsw_state */
enum fsw_state {
	FSW_STATE_CLOSED	= 0,	/* not patched, or patching or unpatching */
	FSW_STATE_OPEN		= 1,	/* patched: gates and recording may be used */
};

struct fsw_info {
	__u32 abi;
	__u32 state;
	__u32 cpus;		/* possible CPUs: rings are 0..cpus-1 */
	__u32 variants;
	__u32 stock;		/* bit n set: variant n's stock position is `with` */
	__u32 patched;		/* functions patched */
	__u64 ring_bytes;
	__u64 reserved[4];
};

struct fsw_variant {
	__u32 index;		/* in */
	__u32 stock_with;
	char id[FSW_ID_BYTES];
	__u32 functions;	/* unused, zero */
	__u32 reserved;
};

/* enum fsw_flight: module/flight.h has the picture */
enum fsw_flight {
	FSW_FLIGHT_OFF		= 0,
	FSW_FLIGHT_ARMED	= 1,
	FSW_FLIGHT_TRIGGERED	= 2,
	FSW_FLIGHT_FROZEN	= 3,
};

struct fsw_status {
	__u32 state;
	__u32 arm;
	__u32 generation;
	__u32 positions;
	__u32 recording;	/* kinds mask in force, BRIEF instead of DECISION at that detail */
	__u32 owner_pid;	/* session's opener, 0 = none */
	__u32 last_end;		/* enum fsw_swap_reason of the last session's end, 0 = none */
	__u32 watched;
	__u64 decisions;	/* patched wakeup checks entered since load, all CPUs */
	__u64 switches;		/* context switches seen since load, all CPUs; 0 while not recording */
	__u64 lease_ms;
	__u64 filtered;		/* records left out by the filter since recording began, all CPUs */
	__u32 flight;		/* enum fsw_flight */
	__u32 triggers;		/* in the window since the rings were armed */
	__u64 trigger_ns;	/* when the first of them came, 0 = none */
	__u64 frozen_ns;
};

struct fsw_session {
	__u32 lease_ms;		/* 100..60000 */
	__u32 owner_pid;	/* out, on EBUSY: who has the session */
};

struct fsw_set {
	__u32 arm;		/* caller's number for it; 0 is stock and must name the stock positions */
	__u32 positions;	/* bit n set: variant n is `with` */
	__u32 generation;	/* out */
	__u32 delayed_in_flight;/* out: delayed entities on all runqueues at the swap */
	__u64 begin_ns;		/* out: CLOCK_MONOTONIC, before the first store */
	__u64 end_ns;		/* out: after the last store */
};

/* enum fsw_detail */
enum fsw_detail {
	FSW_DETAIL_FULL		= 0,
	/* No entity is read: decisions are Briefs, and there is no Requeue or Delay. */
	FSW_DETAIL_BRIEF	= 1,
};

struct fsw_record_ctl {
	__u32 kinds;		/* bit FSW_KIND_x, never BRIEF; 0 stops recording */
	__u32 detail;		/* enum fsw_detail */
};

#define FSW_FILTER_CPU_WORDS	16

/*
 * Which decisions, requeues and delays are recorded; a member that is 0 lets
 * everything pass. The task is the wakee of a decision, or whose entity it is;
 * a group's entity is nobody's. Wakes, switches and the rest aren't filtered.
 */
struct fsw_filter {
	__u32 pid;
	__u32 tgid;
	__u64 cgroup;		/* id of a cgroup of the unified hierarchy: tasks in and below it */
	char comm[FSW_COMM_BYTES];	/* the whole name, NUL-padded */
	__u32 sample;		/* every Nth of what passes the others, per CPU and kind */
	__u32 paths;		/* decisions only: bit FSW_PATH_x */
	__u32 short_slice;	/* decisions only; 1: the wakee's own slice is shorter than curr's own */
	__u32 reserved;
	__u64 cpus[FSW_FILTER_CPU_WORDS];	/* bit n: about CPU n's runqueue */
};

enum fsw_watch_op {
	FSW_WATCH_CLEAR	= 0,	/* forget all */
	FSW_WATCH_TGID	= 1,	/* every thread of this process, present and future */
	FSW_WATCH_PID	= 2,	/* one thread */
	FSW_WATCH_COMM	= 3,	/* every thread of this name, present and future */
};

struct fsw_watch {
	__u32 op;
	__u32 pid;		/* in the initial pid namespace */
	char comm[FSW_COMM_BYTES];	/* for COMM: the whole name, NUL-padded */
};

/*
 * A watched thread that waited longer between wakeup and switch-in freezes the
 * rings, which overwrite meanwhile.
 */
struct fsw_trigger {
	__u64 latency_ns;	/* 0: no trigger, ordinary rings */
	__u32 after_ms;		/* recorded on from the trigger; 0..60000 */
	__u32 reserved;
};

struct fsw_mark {
	__u32 id;
	__u32 reserved;
	__u64 value;
};

#define FSW_IOC_INFO	_IOR('F', 1, struct fsw_info)
#define FSW_IOC_VARIANT	_IOWR('F', 2, struct fsw_variant)
#define FSW_IOC_STATUS	_IOR('F', 3, struct fsw_status)
#define FSW_IOC_SESSION	_IOWR('F', 4, struct fsw_session)	/* begin; EBUSY, ENODEV (closed) */
#define FSW_IOC_LEASE	_IO('F', 5)				/* renew */
#define FSW_IOC_SET	_IOWR('F', 6, struct fsw_set)		/* needs a live session, anyone's */
#define FSW_IOC_RECORD	_IOW('F', 7, struct fsw_record_ctl)	/* session's own descriptor only */
#define FSW_IOC_WATCH	_IOW('F', 8, struct fsw_watch)		/* likewise */
#define FSW_IOC_MARK	_IOW('F', 9, struct fsw_mark)		/* likewise */
#define FSW_IOC_FILTER	_IOW('F', 10, struct fsw_filter)	/* likewise; also while recording */
#define FSW_IOC_TRIGGER	_IOW('F', 11, struct fsw_trigger)	/* likewise; not while recording */
#define FSW_IOC_REARM	_IO('F', 12)				/* likewise; empties the rings, EAGAIN */

/*
 * errno of the ioctls:
 *   EBUSY     another process has the session (fsw_session.owner_pid)
 *   ENODEV    the functions aren't patched now (fsw_info.state)
 *   ENOLINK   no session, or it ended (fsw_status.last_end says why)
 *   EPERM     not this descriptor's session
 *   EINVAL    a value out of range, an unknown variant bit, or reserved != 0
 *   ENOSPC    the watch table is full
 *   ESRCH     no such task to watch
 *   EALREADY  recording is on: set the trigger before
 *   EAGAIN    the rings aren't frozen
 *   ENOTTY    not one of these
 */

#endif /* FAIRSWITCH_UAPI_DEVICE_H */
