// SPDX-License-Identifier: GPL-2.0
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "read.h"
#include "ring.h"
#include "task.h"

enum {
	FSW_SEEN_BITS = 8,
	FSW_WATCH_MAX = 64,
};

/*
 * Direct-mapped by pid; a slot holds a digest of all that a Task record says.
 * A collision only costs a duplicate record.
 */
struct fsw_seen {
	u64 digest[1 << FSW_SEEN_BITS];
};

static struct fsw_seen __percpu *fsw_seen;

/* Readers run with preemption off at least; the writer replaces one word. */
struct fsw_watch_slot {
	u32 op;		/* FSW_WATCH_CLEAR: free */
	u32 pid;
	u64 start_ns;	/* of that process or thread: its pid may be reused */
	char comm[FSW_COMM_BYTES];	/* for COMM, instead of these */
};

static struct fsw_watch_slot fsw_watch[FSW_WATCH_MAX];
u32 fsw_watch_used;
static u32 fsw_watch_comms;	/* of them, COMM */

int fsw_task_init(void)
{
	fsw_seen = alloc_percpu(struct fsw_seen);
	return fsw_seen ? 0 : -ENOMEM;
}

void fsw_task_exit(void)
{
	free_percpu(fsw_seen);
}

void fsw_task_forget(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(fsw_seen, cpu), 0, sizeof(struct fsw_seen));
}

void fsw_task_forget_here(void)
{
	memset(this_cpu_ptr(fsw_seen), 0, sizeof(struct fsw_seen));
}

/* All 64 bits: hash_64() keeps 32, and in them what the lower halves say. */
static __always_inline u64 fsw_digested(u64 digest, u64 word)
{
	return (digest ^ word) * GOLDEN_RATIO_64;
}

static __always_inline u64 fsw_task_digest(const struct task_struct *p)
{
	u64 digest = p->pid ^ ((u64)p->policy << 32) ^ ((u64)p->static_prio << 40);

	BUILD_BUG_ON(sizeof(p->comm) != 2 * sizeof(u64));
	digest = fsw_digested(digest, p->start_boottime);
	digest = fsw_digested(digest, get_unaligned((const u64 *)p->comm));
	digest = fsw_digested(digest, get_unaligned((const u64 *)(p->comm + 8)));
	digest = fsw_digested(digest, p->se.slice);
#ifdef CONFIG_CGROUP_SCHED
	digest = fsw_digested(digest, (unsigned long)p->sched_task_group);
#endif
	return digest | 1;	/* 0 = empty slot */
}

/* Out of line: else every task that is seen would pay for the record's room. */
static noinline void fsw_task_record(const struct task_struct *p)
{
	struct fsw_task_record record =
		FSW_RECORD_TEMPLATE(FSW_KIND_TASK, task, TASK);
	struct fsw_task *task = &record.body;
	u64 id = 0;

	task->stamp.time_ns = ktime_get_mono_fast_ns();
	task->pid = p->pid;
	task->tgid = p->tgid;
	task->start_ns = p->start_boottime;
	memcpy(task->comm, p->comm, FSW_COMM_BYTES);
	task->policy = p->policy & 0x7f;
	task->nice = task_nice(p);
	task->slice_ns = p->se.slice;
	task->custom_slice = p->se.custom_slice;
#ifdef CONFIG_CGROUP_SCHED
	task->group_kind = fsw_group(p->sched_task_group, &id);
#endif
	task->group_id = id;
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_TASK,
			 smp_processor_id(), false);
}

void fsw_task_seen(const struct task_struct *p)
{
	u64 *slot;
	u64 digest;

	if (!fsw_ring_wants(FSW_KIND_TASK))
		return;
	slot = &this_cpu_ptr(fsw_seen)->digest[hash_32(p->pid, FSW_SEEN_BITS)];
	digest = fsw_task_digest(p);
	if (*slot == digest)
		return;
	*slot = digest;
	fsw_task_record(p);
}

static noinline bool fsw_watched_comm(const struct task_struct *p, u32 used)
{
	u32 i;

	for (i = 0; i < used; i++)
		if (fsw_watch[i].op == FSW_WATCH_COMM &&
		    !strncmp(p->comm, fsw_watch[i].comm, FSW_COMM_BYTES))
			return true;
	return false;
}

/* Most tasks aren't, and most watches are of ids: no call on that way. */
bool fsw_watched(const struct task_struct *p)
{
	u32 used = smp_load_acquire(&fsw_watch_used);	/* pairs with the release below */
	u32 i;

	for (i = 0; i < used; i++) {
		const struct fsw_watch_slot *slot = &fsw_watch[i];

		if (slot->op == FSW_WATCH_TGID && p->tgid == slot->pid &&
		    p->group_leader->start_boottime == slot->start_ns)
			return true;
		if (slot->op == FSW_WATCH_PID && p->pid == slot->pid &&
		    p->start_boottime == slot->start_ns)
			return true;
	}
	return READ_ONCE(fsw_watch_comms) && fsw_watched_comm(p, used);
}

static void fsw_watch_store(const struct fsw_watch *watch, u64 start_ns)
{
	struct fsw_watch_slot *slot = &fsw_watch[fsw_watch_used];

	slot->op = watch->op;
	slot->pid = watch->pid;
	slot->start_ns = start_ns;
	memcpy(slot->comm, watch->comm, FSW_COMM_BYTES);
	if (watch->op == FSW_WATCH_COMM)
		WRITE_ONCE(fsw_watch_comms, fsw_watch_comms + 1);
	smp_store_release(&fsw_watch_used, fsw_watch_used + 1);
}

static int fsw_watch_add(const struct fsw_watch *watch)
{
	struct task_struct *p;
	u64 start_ns;

	rcu_read_lock();
	p = pid_task(find_pid_ns(watch->pid, &init_pid_ns),
		     watch->op == FSW_WATCH_TGID ? PIDTYPE_TGID : PIDTYPE_PID);
	start_ns = p ? p->start_boottime : 0;
	rcu_read_unlock();
	if (!p)
		return -ESRCH;
	fsw_watch_store(watch, start_ns);
	return 0;
}

static int fsw_watch_add_comm(const struct fsw_watch *watch)
{
	if (!watch->comm[0])
		return -EINVAL;
	fsw_watch_store(watch, 0);
	return 0;
}

int fsw_watch_change(const struct fsw_watch *watch)
{
	if (watch->op != FSW_WATCH_CLEAR && fsw_watch_used == FSW_WATCH_MAX)
		return watch->op > FSW_WATCH_COMM ? -EINVAL : -ENOSPC;
	switch (watch->op) {
	case FSW_WATCH_CLEAR:
		WRITE_ONCE(fsw_watch_used, 0);
		/* Nobody may still read the slots when they are filled anew. */
		synchronize_rcu();
		WRITE_ONCE(fsw_watch_comms, 0);
		return 0;
	case FSW_WATCH_TGID:
	case FSW_WATCH_PID:
		return fsw_watch_add(watch);
	case FSW_WATCH_COMM:
		return fsw_watch_add_comm(watch);
	default:
		return -EINVAL;
	}
}
