// SPDX-License-Identifier: GPL-2.0
/*
 * Probes run in many contexts; sched_waking may come with interrupts on (the
 * wakee is current), so what writes a ring disables them itself. The timer
 * probe never writes the ring: it leaves what fired in a per-CPU slot, and the
 * wake probe takes it if the slot's task is the wakee.
 */
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>
#include <trace/events/timer.h>

#include "flight.h"
#include "probe.h"
#include "read.h"
#include "ring.h"
#include "task.h"

struct fsw_fired {
	const struct task_struct *task;	/* compared, never followed */
	u64 soft_ns;
	u64 hard_ns;
	u64 fired_ns;
	u32 clock;
};

/* Of kernel/time/hrtimer.c: what a sleeper's timer calls. Bound by the graft. */
extern enum hrtimer_restart hrtimer_wakeup(struct hrtimer *timer);

static DEFINE_PER_CPU(struct fsw_fired, fsw_fired);
static DEFINE_PER_CPU(u64, fsw_switches);

/*
 * Watched threads that were woken and haven't run since: while one waits on a
 * CPU, that CPU's switches are recorded. Only a hint, so a plain array: a slot
 * lost to a race costs some Switch records, never memory.
 */
enum { FSW_WAITING_MAX = 64 };
struct fsw_waiter {
	struct task_struct *task;
	u64 woken_ns;	/* 0: was preempted, not woken */
};
static struct fsw_waiter fsw_waiting[FSW_WAITING_MAX];
static atomic_t fsw_waiting_count = ATOMIC_INIT(0);

static const struct fsw_wake_record fsw_wake_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_WAKE, wake, WAKE);
static const struct fsw_switch_record fsw_switch_template =
	FSW_RECORD_TEMPLATE(FSW_KIND_SWITCH, switch, SWITCH);

static struct fsw_waiter *fsw_waiting_find(const struct task_struct *p)
{
	int i;

	for (i = 0; i < FSW_WAITING_MAX; i++)
		if (READ_ONCE(fsw_waiting[i].task) == p)
			return &fsw_waiting[i];
	return NULL;
}

static struct fsw_waiter *fsw_waiting_take(struct task_struct *p)
{
	int i;

	for (i = 0; i < FSW_WAITING_MAX; i++) {
		if (!cmpxchg(&fsw_waiting[i].task, NULL, p)) {
			atomic_inc(&fsw_waiting_count);
			return &fsw_waiting[i];
		}
	}
	return NULL;
}

static void fsw_waiting_add(struct task_struct *p, u64 woken_ns)
{
	struct fsw_waiter *waiter = fsw_waiting_find(p);

	if (!waiter)
		waiter = fsw_waiting_take(p);
	if (waiter)
		WRITE_ONCE(waiter->woken_ns, woken_ns);
}

/*
 * When it was woken, 0 if it isn't listed or was preempted. The time goes
 * before the slot does: whoever takes it next starts without one, so that a
 * task which is switched in just then has no latency rather than another's.
 */
static u64 fsw_waiting_remove(struct task_struct *p)
{
	u64 woken_ns = 0;
	int i;

	if (!atomic_read(&fsw_waiting_count))
		return 0;
	for (i = 0; i < FSW_WAITING_MAX; i++) {
		if (READ_ONCE(fsw_waiting[i].task) != p)
			continue;
		woken_ns = max(woken_ns, xchg(&fsw_waiting[i].woken_ns, 0));
		if (cmpxchg(&fsw_waiting[i].task, p, NULL) == p)
			atomic_dec(&fsw_waiting_count);
	}
	return woken_ns;
}

/*
 * A task leaves the list when it is switched in, and again when it blocks or
 * exits, and is freed an RCU grace period after its last switch: a listed
 * pointer is alive as long as interrupts are off.
 */
static bool fsw_waits_here(int cpu)
{
	int i;

	if (!atomic_read(&fsw_waiting_count))
		return false;
	for (i = 0; i < FSW_WAITING_MAX; i++) {
		const struct task_struct *p = READ_ONCE(fsw_waiting[i].task);

		if (p && task_cpu(p) == cpu)
			return true;
	}
	return false;
}

static void fsw_read_timer(struct fsw_wake *wake, const struct task_struct *p)
{
	struct fsw_fired *fired = this_cpu_ptr(&fsw_fired);
	struct fsw_timer *timer = &wake->timer;

	if (fired->task != p) {
		wake->timer_tag = FSW_TAG_VOID;
		wake->source = FSW_WAKE_OTHER;
		return;
	}
	fired->task = NULL;
	wake->source = FSW_WAKE_TIMER;
	timer->soft_expiry_ns = fired->soft_ns;
	timer->hard_expiry_ns = fired->hard_ns;
	timer->fired_ns = fired->fired_ns;
	timer->fired_cpu = smp_processor_id();
	timer->clock = fired->clock & 0x7f;
}

/*
 * Out of line, like what records a switch: else those that aren't watched
 * would pay for the record's room on the stack.
 */
static noinline void fsw_record_waking(struct task_struct *p)
{
	struct fsw_wake_record record;
	struct fsw_wake *wake = &record.body;
	unsigned long flags;

	local_irq_save(flags);
	record = fsw_wake_template;
	wake->stamp.time_ns = ktime_get_mono_fast_ns();
	wake->pid = p->pid;
	wake->waker_pid = current->pid;
	wake->task_cpu = task_cpu(p);
	wake->timer_slack_ns = p->timer_slack_ns;
	fsw_read_timer(wake, p);
	fsw_task_seen(p);
	if (p != current)
		fsw_waiting_add(p, wake->stamp.time_ns);
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_WAKE,
			 smp_processor_id(), false);
	local_irq_restore(flags);
}

static void fsw_probe_waking(void *data, struct task_struct *p)
{
	if (fsw_watch_count() && fsw_watched(p))
		fsw_record_waking(p);
}

static noinline void fsw_record_switch(bool preempt, struct task_struct *prev,
				       struct task_struct *next,
				       unsigned int prev_state, u64 woken_ns)
{
	struct fsw_switch_record record;
	struct fsw_switch *to = &record.body;

	if (prev_state == TASK_RUNNING && fsw_watched(prev))
		fsw_waiting_add(prev, 0);
	record = fsw_switch_template;
	to->stamp.time_ns = ktime_get_mono_fast_ns();
	to->prev_pid = prev->pid;
	to->next_pid = next->pid;
	to->prev_state = prev_state;
	to->preempted = preempt;
	fsw_task_seen(prev);
	fsw_task_seen(next);
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_SWITCH,
			 smp_processor_id(), true);
	/* The clock may have stepped back. */
	if (woken_ns && to->stamp.time_ns > woken_ns)
		fsw_flight_switched_in(to->stamp.time_ns - woken_ns,
				       to->stamp.time_ns);
}

static noinline void fsw_watch_switch(bool preempt, struct task_struct *prev,
				      struct task_struct *next,
				      unsigned int prev_state)
{
	bool wanted = fsw_waits_here(smp_processor_id());
	u64 woken_ns;

	woken_ns = fsw_waiting_remove(next);
	if (prev_state != TASK_RUNNING)
		fsw_waiting_remove(prev);
	if (wanted || fsw_watched(prev) || fsw_watched(next))
		fsw_record_switch(preempt, prev, next, prev_state, woken_ns);
}

/* Interrupts are off, the runqueue is locked. */
static void fsw_probe_switch(void *data, bool preempt,
			     struct task_struct *prev, struct task_struct *next,
			     unsigned int prev_state)
{
	__this_cpu_inc(fsw_switches);
	if (atomic_read(&fsw_waiting_count) || fsw_watch_count())
		fsw_watch_switch(preempt, prev, next, prev_state);
}

/*
 * Only sleepers are tied to a task (nanosleep and the like); the timer is a
 * member of its hrtimer_sleeper. Soft timers come with interrupts on, so the
 * slot is filled with them off.
 */
static void fsw_probe_expire(void *data, struct hrtimer *timer, FSW_EXPIRE_NOW)
{
	const struct hrtimer_sleeper *sleeper;
	struct fsw_fired *fired;
	unsigned long flags;

	if (!fsw_watch_count() || fsw_timer_function(timer) != hrtimer_wakeup)
		return;
	sleeper = container_of(timer, struct hrtimer_sleeper, timer);
	local_irq_save(flags);
	fired = this_cpu_ptr(&fsw_fired);
	fired->task = READ_ONCE(sleeper->task);
	fired->soft_ns = ktime_to_ns(hrtimer_get_softexpires(timer));
	fired->hard_ns = ktime_to_ns(hrtimer_get_expires(timer));
	fired->fired_ns = ktime_get_mono_fast_ns();
	fired->clock = timer->base->clockid;
	local_irq_restore(flags);
}

u64 fsw_probe_switches(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(fsw_switches, cpu);
	return sum;
}

/*
 * The tracepoints aren't exported: found by name, checked by prototype. The
 * order is that of attaching: the switch probe, which takes tasks off the
 * waiting list, is there before the waking probe puts any on.
 */
struct fsw_probe {
	const char *name;
	void *function;
	struct tracepoint *tracepoint;
	bool attached;
};

static struct fsw_probe fsw_probes[] = {
	{ .name = "sched_switch", .function = fsw_probe_switch },
	{ .name = "sched_waking", .function = fsw_probe_waking },
	{ .name = "hrtimer_expire_entry", .function = fsw_probe_expire },
};

static void __maybe_unused fsw_probe_prototypes(void)
{
	check_trace_callback_type_sched_waking(fsw_probe_waking);
	check_trace_callback_type_sched_switch(fsw_probe_switch);
	check_trace_callback_type_hrtimer_expire_entry(fsw_probe_expire);
}

static void fsw_probe_match(struct tracepoint *tracepoint, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fsw_probes); i++)
		if (!strcmp(fsw_probes[i].name, tracepoint->name))
			fsw_probes[i].tracepoint = tracepoint;
}

int fsw_probe_init(void)
{
	int i;

	for_each_kernel_tracepoint(fsw_probe_match, NULL);
	for (i = 0; i < ARRAY_SIZE(fsw_probes); i++) {
		if (!fsw_probes[i].tracepoint) {
			pr_err("no tracepoint %s in this kernel\n",
			       fsw_probes[i].name);
			return -ENOENT;
		}
	}
	return 0;
}

void fsw_probe_exit(void)
{
	fsw_probe_detach();
}

int fsw_probe_attach(void)
{
	int i, error;

	for (i = 0; i < ARRAY_SIZE(fsw_probes); i++) {
		struct fsw_probe *probe = &fsw_probes[i];

		if (probe->attached)
			continue;
		error = tracepoint_probe_register(probe->tracepoint,
						  probe->function, NULL);
		if (error) {
			fsw_probe_detach();
			return error;
		}
		probe->attached = true;
	}
	return 0;
}

static void fsw_waiting_clear(void)
{
	memset(fsw_waiting, 0, sizeof(fsw_waiting));
	atomic_set(&fsw_waiting_count, 0);
}

void fsw_probe_detach(void)
{
	int i;

	for (i = ARRAY_SIZE(fsw_probes) - 1; i >= 0; i--) {
		struct fsw_probe *probe = &fsw_probes[i];

		if (probe->attached)
			tracepoint_probe_unregister(probe->tracepoint,
						    probe->function, NULL);
		probe->attached = false;
	}
	tracepoint_synchronize_unregister();
	fsw_waiting_clear();
}
