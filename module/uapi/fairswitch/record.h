/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The record as it stands in the ring: protobuf wire format at constant
 * offsets. proto/record.proto is the manual of every field (unit, clock,
 * absence); this header is the layout, and both are checked against each
 * other by a unit test that decodes records with the generated classes.
 *
 * One record:
 *
 *   +-----------+-----+-----------+----------------------+-----+-----+------+
 *   | length, 2 | tag | length, 2 | the kind's message   | 7a  | len | fill |
 *   +-----------+-----+-----------+----------------------+-----+-----+------+
 *   ^ varint    ^ field of Record ^ varint               ^ Record.void
 *
 * The whole is a multiple of 8 bytes and never straddles the ring's end. A
 * two-byte varint holds 0..16383; below 128 it is the longer of two legal
 * encodings, which every decoder accepts.
 *
 * All scalars are fixed32/fixed64/sfixed64 behind a one-byte tag, so a
 * template with all tags is copied once and values are stored at constant
 * offsets. Type u7 is a one-byte varint: the writer masks it with 0x7f. An
 * absent submessage keeps its bytes, but its tag reads `void` (field 15).
 *
 * Little-endian only. Members are unaligned: copy structs, never point into
 * them.
 */
#ifndef FAIRSWITCH_UAPI_RECORD_H
#define FAIRSWITCH_UAPI_RECORD_H

#include <linux/types.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fairswitch records are little-endian"
#endif

#define FSW_COMM_BYTES	16
#define FSW_TAG_VOID	0x7a	/* field 15, length-delimited */

/* Wire types, by the names that the field lists below use. */
#define FSW_WIRE_u7	0
#define FSW_WIRE_f64	1
#define FSW_WIRE_s64	1
#define FSW_WIRE_f32	5
#define FSW_WIRE_s32	5
#define FSW_WIRE_comm	2
#define FSW_WIRE_stamp	2
#define FSW_WIRE_entity	2
#define FSW_WIRE_queue	2
#define FSW_WIRE_timer	2

#define FSW_TAG(number, type)	(((number) << 3) | FSW_WIRE_##type)

/*
 * The messages: F(number, type, name), in order of the bytes. These lists are
 * the single source of the structs, the templates and the offset table.
 */
#define FSW_STAMP_FIELDS(F)		\
	F(1, f64, time_ns)		\
	F(2, f64, seq)			\
	F(3, f32, cpu)			\
	F(4, f32, rq_cpu)		\
	F(5, f32, arm)			\
	F(6, f32, generation)

#define FSW_ENTITY_FIELDS(F)		\
	F(1, f32, pid)			\
	F(2, f32, flags)		\
	F(3, f64, weight)		\
	F(4, f64, slice_ns)		\
	F(5, f64, vruntime_ns)		\
	F(6, f64, deadline_ns)		\
	F(7, s64, lag_ns)		\
	F(8, f64, group_id)		\
	F(9, f64, owned_group_id)

#define FSW_QUEUE_FIELDS(F)		\
	F(1, f32, queued)		\
	F(2, f32, h_queued)		\
	F(3, f64, load)			\
	F(4, f64, avg_vruntime_ns)	\
	F(5, f32, picks)		\
	F(6, f32, delayed_dequeued)	\
	F(7, f32, branches)		\
	F(8, f32, buddy_pid)

#define FSW_TIMER_FIELDS(F)		\
	F(1, f64, soft_expiry_ns)	\
	F(2, f64, hard_expiry_ns)	\
	F(3, f64, fired_ns)		\
	F(4, f32, fired_cpu)		\
	F(5, u7, clock)

#define FSW_DECISION_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, u7, path)			\
	F(3, u7, verdict)		\
	F(4, u7, resched)		\
	F(5, f32, wake_flags)		\
	F(6, f32, wakee_state)		\
	F(7, f32, duration_ns)		\
	F(8, f32, wakee_pid)		\
	F(9, f32, curr_pid)		\
	F(10, entity, wakee)		\
	F(11, entity, curr)		\
	F(12, entity, picked)		\
	F(13, queue, queue)

/* A decision without its entities: what is cheap to know. */
#define FSW_BRIEF_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, u7, path)			\
	F(3, u7, verdict)		\
	F(4, u7, resched)		\
	F(5, f32, wakee_pid)		\
	F(6, f32, curr_pid)		\
	F(7, f32, picked_pid)

#define FSW_REQUEUE_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, entity, entity)		\
	F(3, s64, lag_stored_ns)	\
	F(4, s64, lag_before_ns)	\
	F(5, s64, lag_after_ns)		\
	F(6, f64, curr_stale_ns)	\
	F(7, f32, branches)		\
	F(8, f32, curr_pid)

#define FSW_DELAY_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, entity, entity)		\
	F(3, u7, verdict)		\
	F(4, s64, lag_stored_ns)	\
	F(5, s64, lag_after_ns)		\
	F(6, f32, dequeue_flags)	\
	F(7, f32, branches)

#define FSW_WAKE_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f32, pid)			\
	F(3, f32, waker_pid)		\
	F(4, f32, task_cpu)		\
	F(5, u7, source)		\
	F(6, f64, timer_slack_ns)	\
	F(7, timer, timer)

#define FSW_SWITCH_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f32, prev_pid)		\
	F(3, f32, next_pid)		\
	F(4, f32, prev_state)		\
	F(5, u7, preempted)

#define FSW_TASK_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f32, pid)			\
	F(3, f32, tgid)			\
	F(4, f64, start_ns)		\
	F(5, comm, comm)		\
	F(6, u7, policy)		\
	F(7, s32, nice)			\
	F(8, f64, slice_ns)		\
	F(9, u7, custom_slice)		\
	F(10, u7, group_kind)		\
	F(11, f64, group_id)

#define FSW_SWAP_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f32, old_arm)		\
	F(3, f32, old_generation)	\
	F(4, f32, positions)		\
	F(5, u7, reason)		\
	F(6, f64, requested_ns)		\
	F(7, f32, delayed_in_flight)	\
	F(8, f32, lags_zeroed)

#define FSW_LOST_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f64, first_ns)		\
	F(3, f64, last_ns)		\
	F(4, f32, decisions)		\
	F(5, f32, requeues)		\
	F(6, f32, delays)		\
	F(7, f32, wakes)		\
	F(8, f32, switches)		\
	F(9, f32, tasks)		\
	F(10, f32, swaps)		\
	F(11, f32, markers)

#define FSW_MARKER_FIELDS(F)		\
	F(1, stamp, stamp)		\
	F(2, f32, id)			\
	F(3, f64, value)

/*
 * The kinds that the kernel writes: K(number in Record, name, NAME). Pad has
 * no fixed size and stands apart.
 */
#define FSW_KINDS(K)			\
	K(2, decision, DECISION)	\
	K(3, requeue, REQUEUE)		\
	K(4, delay, DELAY)		\
	K(5, wake, WAKE)		\
	K(6, switch, SWITCH)		\
	K(7, task, TASK)		\
	K(8, swap, SWAP)		\
	K(9, lost, LOST)		\
	K(10, marker, MARKER)		\
	K(14, brief, BRIEF)

#define FSW_KIND_PAD	11
#define FSW_KIND_COUNT	16	/* size of arrays indexed by kind */

/* Members of a struct from its list. */
#define FSW_MEMBER_u7(name)	__u8 name##_tag; __u8 name;
#define FSW_MEMBER_f32(name)	__u8 name##_tag; __u32 name;
#define FSW_MEMBER_s32(name)	__u8 name##_tag; __s32 name;
#define FSW_MEMBER_f64(name)	__u8 name##_tag; __u64 name;
#define FSW_MEMBER_s64(name)	__u8 name##_tag; __s64 name;
#define FSW_MEMBER_comm(name)	\
	__u8 name##_tag; __u8 name##_len; char name[FSW_COMM_BYTES];
#define FSW_MEMBER_SUB(message, name)	\
	__u8 name##_tag; __u8 name##_len; struct fsw_##message name;
#define FSW_MEMBER_stamp(name)	FSW_MEMBER_SUB(stamp, name)
#define FSW_MEMBER_entity(name)	FSW_MEMBER_SUB(entity, name)
#define FSW_MEMBER_queue(name)	FSW_MEMBER_SUB(queue, name)
#define FSW_MEMBER_timer(name)	FSW_MEMBER_SUB(timer, name)
#define FSW_MEMBER(number, type, name)	FSW_MEMBER_##type(name)
#define FSW_PACKED	__attribute__((packed))

struct fsw_stamp { FSW_STAMP_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_entity { FSW_ENTITY_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_queue { FSW_QUEUE_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_timer { FSW_TIMER_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_decision { FSW_DECISION_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_brief { FSW_BRIEF_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_requeue { FSW_REQUEUE_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_delay { FSW_DELAY_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_wake { FSW_WAKE_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_switch { FSW_SWITCH_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_task { FSW_TASK_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_swap { FSW_SWAP_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_lost { FSW_LOST_FIELDS(FSW_MEMBER) } FSW_PACKED;
struct fsw_marker { FSW_MARKER_FIELDS(FSW_MEMBER) } FSW_PACKED;

/* Length prefix, the kind's tag and the kind's length. */
struct fsw_frame {
	__u8 record_len[2];
	__u8 kind_tag;
	__u8 kind_len[2];
} FSW_PACKED;

/* 1..8 bytes, so that frame + message + tag + len + fill is a multiple of 8. */
#define FSW_FILL_BYTES(message)	\
	(8 - (sizeof(struct fsw_frame) + sizeof(struct fsw_##message) + 2) % 8)

#define FSW_RECORD_STRUCT(number, message, MESSAGE)	\
	struct fsw_##message##_record {			\
		struct fsw_frame frame;			\
		struct fsw_##message body;		\
		__u8 fill_tag;				\
		__u8 fill_len;				\
		__u8 fill[FSW_FILL_BYTES(message)];	\
	} FSW_PACKED;
FSW_KINDS(FSW_RECORD_STRUCT)
#undef FSW_RECORD_STRUCT

#define FSW_KIND_ENUM(number, message, MESSAGE)	FSW_KIND_##MESSAGE = number,
enum fsw_kind { FSW_KINDS(FSW_KIND_ENUM) };
#undef FSW_KIND_ENUM

/*
 * A Pad fills the ring's end: frame, then inside Pad a `void` field with a
 * two-byte length. The smallest is 8 bytes.
 */
struct fsw_pad_head {
	struct fsw_frame frame;
	__u8 fill_tag;
	__u8 fill_len[2];
} FSW_PACKED;

/* A two-byte varint of 0..16383. */
#define FSW_VARINT2(v)	{ (__u8)(((v) & 0x7f) | 0x80), (__u8)(((v) >> 7) & 0x7f) }

/* Templates: every tag and length set, every value zero. */
#define FSW_LEAF_u7(number, name)	.name##_tag = FSW_TAG(number, u7), .name = 0,
#define FSW_LEAF_f32(number, name)	.name##_tag = FSW_TAG(number, f32), .name = 0,
#define FSW_LEAF_s32(number, name)	.name##_tag = FSW_TAG(number, s32), .name = 0,
#define FSW_LEAF_f64(number, name)	.name##_tag = FSW_TAG(number, f64), .name = 0,
#define FSW_LEAF_s64(number, name)	.name##_tag = FSW_TAG(number, s64), .name = 0,
#define FSW_LEAF(number, type, name)	FSW_LEAF_##type(number, name)
#define FSW_SUB(number, message, MESSAGE, name)				\
	.name##_tag = FSW_TAG(number, message),				\
	.name##_len = sizeof(struct fsw_##message),			\
	.name = { FSW_##MESSAGE##_FIELDS(FSW_LEAF) },
#define FSW_INIT_u7	FSW_LEAF_u7
#define FSW_INIT_f32	FSW_LEAF_f32
#define FSW_INIT_s32	FSW_LEAF_s32
#define FSW_INIT_f64	FSW_LEAF_f64
#define FSW_INIT_s64	FSW_LEAF_s64
#define FSW_INIT_comm(number, name)	\
	.name##_tag = FSW_TAG(number, comm), .name##_len = FSW_COMM_BYTES, .name = {},
#define FSW_INIT_stamp(number, name)	FSW_SUB(number, stamp, STAMP, name)
#define FSW_INIT_entity(number, name)	FSW_SUB(number, entity, ENTITY, name)
#define FSW_INIT_queue(number, name)	FSW_SUB(number, queue, QUEUE, name)
#define FSW_INIT_timer(number, name)	FSW_SUB(number, timer, TIMER, name)
#define FSW_INIT(number, type, name)	FSW_INIT_##type(number, name)

#define FSW_RECORD_TEMPLATE(number, message, MESSAGE)				\
	{									\
		.frame = {							\
			.record_len = FSW_VARINT2(				\
				sizeof(struct fsw_##message##_record) - 2),	\
			.kind_tag = ((number) << 3) | 2,			\
			.kind_len = FSW_VARINT2(sizeof(struct fsw_##message)),	\
		},								\
		.body = { FSW_##MESSAGE##_FIELDS(FSW_INIT) },			\
		.fill_tag = FSW_TAG_VOID,					\
		.fill_len = FSW_FILL_BYTES(message),				\
		.fill = {},							\
	}

/* Values of u7 fields and bits of flag fields. record.proto has the meaning. */
enum fsw_path {
	FSW_PATH_UNSPECIFIED		= 0,
	FSW_PATH_SAME_ENTITY		= 1,
	FSW_PATH_THROTTLED		= 2,
	FSW_PATH_RESCHED_PENDING	= 3,
	FSW_PATH_PREEMPTION_OFF		= 4,
	FSW_PATH_IDLE_PREEMPT		= 5,
	FSW_PATH_IDLE_KEEP		= 6,
	FSW_PATH_POLICY_KEEP		= 7,
	FSW_PATH_PICK_PREEMPT		= 8,
	FSW_PATH_PICK_KEEP		= 9,
	FSW_PATH_CANCEL_PREEMPT		= 10,
	FSW_PATH_OTHER_CLASS		= 11,
	FSW_PATH_DELAYED_KEEP		= 12,
	FSW_PATH_FORK_KEEP		= 13,
	FSW_PATH_SYNC_KEEP		= 14,
	FSW_PATH_SYNC_PREEMPT		= 15,
};
#define FSW_ALL_PATHS	0xfffeU	/* a bit for each but UNSPECIFIED */

enum fsw_verdict {
	FSW_VERDICT_UNSPECIFIED	= 0,
	FSW_VERDICT_KEEP	= 1,
	FSW_VERDICT_PREEMPT	= 2,
};

enum fsw_resched {
	FSW_RESCHED_UNSPECIFIED	= 0,
	FSW_RESCHED_NONE	= 1,
	FSW_RESCHED_ALREADY	= 2,
	FSW_RESCHED_LAZY	= 3,
	FSW_RESCHED_NOW_LOCAL	= 4,
	FSW_RESCHED_NOW_IPI	= 5,
};

enum fsw_entity_flag {
	FSW_ENTITY_TASK		= 1 << 0,
	FSW_ENTITY_ELIGIBLE	= 1 << 1,
	FSW_ENTITY_DELAYED	= 1 << 2,
	FSW_ENTITY_PROTECTED	= 1 << 3,
	FSW_ENTITY_IDLE		= 1 << 4,	/* as the check judges it */
	FSW_ENTITY_ON_RQ	= 1 << 5,
	FSW_ENTITY_CUSTOM_SLICE	= 1 << 6,
	FSW_ENTITY_EFFECTIVE_IDLE	= 1 << 7,	/* it or a group above it is idle */
	FSW_ENTITY_GROUP_SHIFT	= 8,		/* 2 bits: enum fsw_group_kind */
	FSW_ENTITY_OWNED_SHIFT	= 10,		/* 2 bits: same, for owned_group_id */
	FSW_ENTITY_POLICY_SHIFT	= 12,		/* 4 bits: SCHED_*, tasks only */
};

enum fsw_group_kind {
	FSW_GROUP_ROOT		= 0,
	FSW_GROUP_CGROUP	= 1,
	FSW_GROUP_AUTOGROUP	= 2,
	FSW_GROUP_NONE		= 3,
};

enum fsw_queue_branch {
	FSW_BRANCH_SHORT_CANCEL		= 1 << 0,	/* curr's protection cancelled for a shorter slice */
	FSW_BRANCH_DELAYED_PICKED	= 1 << 1,	/* the last pick was delayed */
	FSW_BRANCH_DEQUEUE_DELAYED	= 1 << 2,	/* dequeue-delayed dequeued one and picked again */
	FSW_BRANCH_PROTECTED_BEFORE	= 1 << 3,
	FSW_BRANCH_PROTECTED_AFTER	= 1 << 4,
	FSW_BRANCH_BUDDY_CLEARED	= 1 << 5,	/* short-buddy dropped curr's turn as next buddy */
	FSW_BRANCH_SHORT		= 1 << 6,	/* the wakee's slice is shorter: the pick disregards protection */
	FSW_BRANCH_BUDDY_NOMINATED	= 1 << 7,	/* the preempting wakee is the next buddy */
	FSW_BRANCH_BUDDY_IS_CURR	= 1 << 8,	/* before the pick, curr's entity was the next buddy */
};

/* Requeue.branches and Delay.branches */
enum fsw_lag_branch {
	FSW_LAG_STORED_VALID	= 1 << 0,	/* lag_stored_ns was read under the hygiene rule */
	FSW_LAG_CLAMPED		= 1 << 1,	/* lag-clamp raised the lag to the stored one */
	FSW_LAG_CLOCK_UPDATED	= 1 << 2,	/* requeue-clock brought curr's vruntime up to date */
	FSW_LAG_NO_CURR		= 1 << 3,	/* the cfs_rq had no running entity */
	FSW_LAG_CURR_IS_ENTITY	= 1 << 4,	/* the entity itself is the running one */
};

enum fsw_delay_verdict {
	FSW_DELAY_UNSPECIFIED	= 0,
	FSW_DELAY_DELAYED	= 1,
	FSW_DELAY_DEQUEUED	= 2,
	FSW_DELAY_FINISHED	= 3,
};

enum fsw_wake_source {
	FSW_WAKE_UNSPECIFIED	= 0,
	FSW_WAKE_TIMER		= 1,
	FSW_WAKE_OTHER		= 2,
};

enum fsw_swap_reason {
	FSW_SWAP_UNSPECIFIED	= 0,
	FSW_SWAP_SET		= 1,
	FSW_SWAP_SESSION_END	= 2,
	FSW_SWAP_LEASE_OVER	= 3,
	FSW_SWAP_OPENER_DEAD	= 4,
	FSW_SWAP_UNPATCH	= 5,
};

/* Markers of the kernel's own. */
enum fsw_marker_id {
	FSW_MARKER_TRIGGER	= 7,	/* value: the latency, ns */
};

#endif /* FAIRSWITCH_UAPI_RECORD_H */
