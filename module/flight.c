// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "flight.h"
#include "ring.h"
#include "task.h"

enum { FSW_AFTER_MAX_MS = 60000 };

u64 fsw_flight_latency_ns __read_mostly;

static u32 fsw_after_ms;
static atomic_t fsw_state = ATOMIC_INIT(FSW_FLIGHT_OFF);
/* Of the window that is being recorded: since the rings were armed. */
static atomic_t fsw_triggers = ATOMIC_INIT(0);
static u64 fsw_trigger_ns;
static u64 fsw_frozen_ns;

static void fsw_freeze(struct work_struct *work);
static DECLARE_DELAYED_WORK(fsw_freeze_work, fsw_freeze);

/* A runqueue was locked where it triggered: work can't be queued there. */
static void fsw_triggered(struct irq_work *work)
{
	queue_delayed_work(system_highpri_wq, &fsw_freeze_work,
			   msecs_to_jiffies(fsw_after_ms));
}
static struct irq_work fsw_triggered_work = IRQ_WORK_INIT(fsw_triggered);

static void fsw_freeze(struct work_struct *work)
{
	/* Before: waiting for the writers can take a while. */
	WRITE_ONCE(fsw_frozen_ns, ktime_get_mono_fast_ns());
	fsw_ring_freeze();
	if (atomic_cmpxchg(&fsw_state, FSW_FLIGHT_TRIGGERED,
			   FSW_FLIGHT_FROZEN) == FSW_FLIGHT_TRIGGERED)
		fsw_ring_wake_readers();
}

void __fsw_flight_late(u64 latency_ns, u64 now_ns)
{
	struct fsw_marker_record record =
		FSW_RECORD_TEMPLATE(FSW_KIND_MARKER, marker, MARKER);
	int state = atomic_cmpxchg(&fsw_state, FSW_FLIGHT_ARMED,
				   FSW_FLIGHT_TRIGGERED);

	if (state != FSW_FLIGHT_ARMED && state != FSW_FLIGHT_TRIGGERED)
		return;
	record.body.stamp.time_ns = now_ns;
	record.body.id = FSW_MARKER_TRIGGER;
	record.body.value = latency_ns;
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_MARKER,
			 smp_processor_id(), false);
	atomic_inc(&fsw_triggers);
	if (state != FSW_FLIGHT_ARMED)
		return;
	WRITE_ONCE(fsw_trigger_ns, now_ns);
	irq_work_queue(&fsw_triggered_work);
}

int fsw_flight_setup(const struct fsw_trigger *trigger)
{
	if (trigger->reserved || trigger->after_ms > FSW_AFTER_MAX_MS)
		return -EINVAL;
	fsw_after_ms = trigger->after_ms;
	WRITE_ONCE(fsw_flight_latency_ns, trigger->latency_ns);
	fsw_ring_set_overwrite(trigger->latency_ns != 0);
	return 0;
}

static void fsw_arm(void)
{
	atomic_set(&fsw_triggers, 0);
	WRITE_ONCE(fsw_trigger_ns, 0);
	WRITE_ONCE(fsw_frozen_ns, 0);
	atomic_set_release(&fsw_state, FSW_FLIGHT_ARMED);
}

void fsw_flight_start(void)
{
	if (!fsw_flight_latency_ns || atomic_read(&fsw_state) != FSW_FLIGHT_OFF)
		return;
	fsw_ring_thaw();
	fsw_arm();
}

void fsw_flight_stop(void)
{
	if (atomic_xchg(&fsw_state, FSW_FLIGHT_OFF) == FSW_FLIGHT_OFF)
		return;
	irq_work_sync(&fsw_triggered_work);
	cancel_delayed_work_sync(&fsw_freeze_work);
}

bool fsw_flight_frozen(void)
{
	return atomic_read(&fsw_state) == FSW_FLIGHT_FROZEN;
}

int fsw_flight_rearm(void)
{
	if (!fsw_flight_frozen())
		return -EAGAIN;
	/* The tasks of the next window are told anew. */
	fsw_task_forget();
	fsw_ring_thaw();
	fsw_arm();
	return 0;
}

void fsw_flight_status(struct fsw_status *status)
{
	status->flight = atomic_read(&fsw_state);
	status->triggers = atomic_read(&fsw_triggers);
	status->trigger_ns = READ_ONCE(fsw_trigger_ns);
	status->frozen_ns = READ_ONCE(fsw_frozen_ns);
}
