// SPDX-License-Identifier: GPL-2.0
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include <fairswitch/record.h>

#define FSW_LOAD_ACQUIRE(p)	smp_load_acquire(p)
#define FSW_STORE_RELEASE(p, v)	smp_store_release(p, v)
#define FSW_STORE(p, v)		WRITE_ONCE(*(p), v)
#define FSW_MEMCPY(to, from, n)	fsw_copy(to, from, n)

/*
 * A copy whose length the compiler knows is made in place, with aligned words:
 * so are those of the records that come most.
 */
static __always_inline void fsw_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == sizeof(struct fsw_decision_record))
		memcpy(to, from, sizeof(struct fsw_decision_record));
	else if (bytes == sizeof(struct fsw_delay_record))
		memcpy(to, from, sizeof(struct fsw_delay_record));
	else if (bytes == sizeof(struct fsw_brief_record))
		memcpy(to, from, sizeof(struct fsw_brief_record));
	else
		memcpy(to, from, bytes);
}

#include "ring_core.h"

#include "flight.h"
#include "gate.h"
#include "ring.h"
#include "task.h"

enum {
	FSW_RING_MIN_KB = 64,
	FSW_RING_MAX_KB = 1 << 20,
	/* The reader is woken per this part of the ring: far above its own burst. */
	FSW_RING_WATERMARK_SHIFT = 2,
};

static unsigned int ring_kb = 4096;
module_param(ring_kb, uint, 0444);
MODULE_PARM_DESC(ring_kb, "Size of each CPU's ring in KiB, a power of two, 64 to 1048576");

struct fsw_cpu_ring {
	struct fsw_ring core;
	void *area;	/* consumer page, producer page, data */
	struct irq_work wake;
	u64 retell;	/* overwriting: tasks are told anew when head is here */
};

static DEFINE_PER_CPU(struct fsw_cpu_ring *, fsw_rings);
/* Of the runqueue of that CPU: counts under its lock, whoever holds it. */
static DEFINE_PER_CPU(u64, fsw_seq);
static DECLARE_WAIT_QUEUE_HEAD(fsw_readers);
u32 fsw_kinds __read_mostly;
static bool fsw_overwrite __read_mostly;
static bool fsw_frozen __read_mostly;

u64 fsw_ring_size(void)
{
	return (u64)ring_kb << 10;
}

static u64 fsw_ring_watermark(void)
{
	return fsw_ring_size() >> FSW_RING_WATERMARK_SHIFT;
}

void fsw_ring_set_kinds(u32 kinds)
{
	WRITE_ONCE(fsw_kinds, kinds);
}

static void fsw_ring_wake(struct irq_work *work)
{
	wake_up_interruptible(&fsw_readers);
}

static void fsw_ring_free(struct fsw_cpu_ring *ring)
{
	if (!ring)
		return;
	irq_work_sync(&ring->wake);
	vfree(ring->area);
	kfree(ring);
}

static struct fsw_cpu_ring *fsw_ring_alloc(int cpu)
{
	struct fsw_cpu_ring *ring;
	u8 *area;

	ring = kzalloc_node(sizeof(*ring), GFP_KERNEL, cpu_to_node(cpu));
	if (!ring)
		return NULL;
	/* Zeroed, and fit for remap_vmalloc_range(). */
	area = vmalloc_user(2 * PAGE_SIZE + fsw_ring_size());
	if (!area) {
		kfree(ring);
		return NULL;
	}
	ring->area = area;
	init_irq_work(&ring->wake, fsw_ring_wake);
	fsw_ring_init(&ring->core, (void *)(area + PAGE_SIZE), (void *)area,
		      area + 2 * PAGE_SIZE, fsw_ring_size(), cpu);
	return ring;
}

int fsw_ring_create(void)
{
	int cpu;

	BUILD_BUG_ON(sizeof(struct fsw_ring_producer) > PAGE_SIZE);
	if (ring_kb < FSW_RING_MIN_KB || ring_kb > FSW_RING_MAX_KB ||
	    !is_power_of_2(ring_kb)) {
		pr_err("ring_kb=%u: expected a power of two from %d to %d\n",
		       ring_kb, FSW_RING_MIN_KB, FSW_RING_MAX_KB);
		return -EINVAL;
	}
	for_each_possible_cpu(cpu) {
		struct fsw_cpu_ring *ring = fsw_ring_alloc(cpu);

		if (!ring) {
			fsw_ring_destroy();
			return -ENOMEM;
		}
		per_cpu(fsw_rings, cpu) = ring;
	}
	return 0;
}

void fsw_ring_destroy(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		fsw_ring_free(per_cpu(fsw_rings, cpu));
		per_cpu(fsw_rings, cpu) = NULL;
	}
}

void fsw_ring_reset(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct fsw_ring *ring = &per_cpu(fsw_rings, cpu)->core;
		struct fsw_ring_producer *producer = ring->producer;

		memset(producer->produced, 0, sizeof(producer->produced));
		memset(producer->dropped, 0, sizeof(producer->dropped));
		memset(producer->filtered, 0, sizeof(producer->filtered));
		memset(producer->overwritten, 0, sizeof(producer->overwritten));
		producer->lost_first_ns = 0;
		producer->lost_last_ns = 0;
		memset(&ring->loss, 0, sizeof(ring->loss));
		ring->tail = ring->head;
		ring->due = ring->head;
		smp_store_release(&ring->consumer->tail, ring->head);
	}
}

/*
 * What a Task record said is overwritten in time. Each quarter of a ring tells
 * its tasks anew, so whatever is left in it can be named, but for what stands
 * in the oldest quarter.
 */
static void fsw_ring_publish_over(struct fsw_cpu_ring *ring, void *record,
				  u32 bytes, enum fsw_kind kind)
{
	u64 time_ns = ((struct fsw_marker_record *)record)->body.stamp.time_ns;

	if (fsw_ring_frozen()) {
		fsw_ring_refuse(&ring->core, kind, time_ns);
		return;
	}
	fsw_ring_put_over(&ring->core, record, bytes, kind, time_ns);
	if (ring->core.head < ring->retell)
		return;
	ring->retell = ring->core.head + fsw_ring_watermark();
	fsw_task_forget_here();
}

/* All kinds begin with frame and stamp, so one struct serves them all. */
void __fsw_ring_publish(void *record, u32 bytes, enum fsw_kind kind, int rq_cpu,
			bool rq_locked)
{
	struct fsw_cpu_ring *ring = this_cpu_read(fsw_rings);
	struct fsw_stamp *stamp = &((struct fsw_marker_record *)record)->body.stamp;
	u64 word = fsw_word(rq_cpu);

	stamp->seq = rq_locked ? ++per_cpu(fsw_seq, rq_cpu) : 0;
	stamp->cpu = smp_processor_id();
	stamp->rq_cpu = rq_cpu;
	stamp->arm = fsw_word_arm(word);
	stamp->generation = fsw_word_generation(word);
	if (fsw_overwrite) {
		fsw_ring_publish_over(ring, record, bytes, kind);
		return;
	}
	fsw_ring_put(&ring->core, record, bytes, kind, stamp->time_ns);
	if (fsw_ring_reader_due(&ring->core, fsw_ring_watermark()))
		irq_work_queue(&ring->wake);
}

void __fsw_ring_filtered(enum fsw_kind kind)
{
	u64 *count = &this_cpu_read(fsw_rings)->core.producer->filtered[kind];

	WRITE_ONCE(*count, *count + 1);
}

u64 fsw_ring_filtered_sum(void)
{
	u64 sum = 0;
	int cpu, kind;

	for_each_possible_cpu(cpu)
		for (kind = 0; kind < FSW_KIND_COUNT; kind++)
			sum += READ_ONCE(per_cpu(fsw_rings, cpu)->core.producer->filtered[kind]);
	return sum;
}

void fsw_ring_set_overwrite(bool on)
{
	int cpu;

	fsw_overwrite = on;
	fsw_frozen = false;
	for_each_possible_cpu(cpu) {
		struct fsw_cpu_ring *ring = per_cpu(fsw_rings, cpu);

		ring->core.overwrite = on;
		ring->core.loss.pending = false;
		ring->retell = ring->core.head + fsw_ring_watermark();
		fsw_ring_empty(&ring->core);
	}
}

/* Pairs with the release in fsw_ring_thaw(): a writer then sees an empty ring. */
bool fsw_ring_frozen(void)
{
	return smp_load_acquire(&fsw_frozen);
}

void fsw_ring_freeze(void)
{
	WRITE_ONCE(fsw_frozen, true);
	/* Writers have interrupts off: none that didn't see it is left after this. */
	synchronize_rcu();
}

void fsw_ring_thaw(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		fsw_ring_empty(&per_cpu(fsw_rings, cpu)->core);
	smp_store_release(&fsw_frozen, false);
	/* Nobody counts a drop any more: the next freeze has times of its own. */
	synchronize_rcu();
	for_each_possible_cpu(cpu)
		per_cpu(fsw_rings, cpu)->core.loss.pending = false;
}

void fsw_ring_wake_readers(void)
{
	wake_up_interruptible(&fsw_readers);
}

static unsigned long fsw_ring_unread(int cpu)
{
	struct fsw_ring *ring = &per_cpu(fsw_rings, cpu)->core;

	return READ_ONCE(ring->producer->head) - READ_ONCE(ring->consumer->tail);
}

__poll_t fsw_ring_poll(struct file *file, poll_table *wait)
{
	int cpu;

	poll_wait(file, &fsw_readers, wait);
	if (fsw_overwrite)
		return fsw_flight_frozen() ? EPOLLPRI : 0;
	for_each_possible_cpu(cpu)
		if (fsw_ring_unread(cpu) > fsw_ring_watermark())
			return EPOLLIN | EPOLLRDNORM;
	return 0;
}

/*
 * Pages are refcounted (not PFNs), so a page that somebody pinned outlives
 * the ring without harm; the mapping itself holds the module through vm_file.
 */
static int fsw_ring_map_area(struct vm_area_struct *vma, int cpu,
			     enum fsw_area area)
{
	struct fsw_cpu_ring *ring = per_cpu(fsw_rings, cpu);
	unsigned long bytes = PAGE_SIZE;
	unsigned long first = 0;

	if (area == FSW_AREA_PRODUCER) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
		bytes += fsw_ring_size();
		first = 1;
	}
	if (vma->vm_end - vma->vm_start != bytes)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	return remap_vmalloc_range(vma, ring->area, first);
}

int fsw_ring_mmap(struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 cpu = offset >> 32;
	u32 area = (offset >> 31) & 1;

	if (offset != fsw_ring_offset(cpu, area))
		return -EINVAL;
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -ENXIO;
	return fsw_ring_map_area(vma, cpu, area);
}
