// SPDX-License-Identifier: GPL-2.0
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "filter.h"
#include "flight.h"
#include "gate.h"
#include "probe.h"
#include "ring.h"
#include "session.h"
#include "tap.h"
#include "task.h"

#include "fairswitch_variants.h"

enum {
	FSW_LEASE_MIN_MS = 100,
	FSW_LEASE_MAX_MS = 60000,
};

#define FSW_ALL_VARIANTS	((u32)((1ULL << FSW_VARIANT_COUNT) - 1))
#define FSW_KIND_BIT(number, message, MESSAGE)	BIT(FSW_KIND_##MESSAGE) |
#define FSW_ALL_KINDS		((FSW_KINDS(FSW_KIND_BIT) 0) & ~BIT(FSW_KIND_BRIEF))

static DEFINE_MUTEX(fsw_mutex);

/* All under fsw_mutex. */
static struct {
	bool open;		/* patched */
	struct file *owner;	/* NULL: no session */
	struct pid *opener;
	u32 lease_ms;
	unsigned long lease_end;	/* jiffies */
	enum fsw_swap_reason last_end;
} fsw_session;

static void fsw_session_watchdog(struct work_struct *work);
static DECLARE_DELAYED_WORK(fsw_watchdog, fsw_session_watchdog);

static void fsw_watchdog_arm(void)
{
	/* High priority: the machine is under load by design. */
	mod_delayed_work(system_highpri_wq, &fsw_watchdog,
			 msecs_to_jiffies(fsw_session.lease_ms / 4) + 1);
}

static void fsw_recording_stop(void)
{
	if (!fsw_ring_kinds())
		return;
	fsw_gate_listen(FSW_LISTENER_RECORD, 0);
	fsw_probe_detach();
	fsw_ring_set_kinds(0);
	/* Taps run with interrupts off: none is left in a ring after this. */
	synchronize_rcu();
	fsw_flight_stop();
}

static void fsw_session_end(enum fsw_swap_reason reason)
{
	struct fsw_set stock = { .arm = 0, .positions = FSW_STOCK_WORD };

	if (!fsw_session.owner)
		return;
	fsw_gate_swap(&stock, reason);
	fsw_recording_stop();
	put_pid(fsw_session.opener);
	fsw_session.opener = NULL;
	fsw_session.owner = NULL;
	fsw_session.last_end = reason;
}

static bool fsw_opener_dead(void)
{
	struct task_struct *p;
	bool dead;

	rcu_read_lock();
	p = pid_task(fsw_session.opener, PIDTYPE_TGID);
	dead = !p || (p->exit_state && thread_group_empty(p));
	rcu_read_unlock();
	return dead;
}

static void fsw_session_watchdog(struct work_struct *work)
{
	mutex_lock(&fsw_mutex);
	if (fsw_session.owner && fsw_opener_dead())
		fsw_session_end(FSW_SWAP_OPENER_DEAD);
	else if (fsw_session.owner && time_after(jiffies, fsw_session.lease_end))
		fsw_session_end(FSW_SWAP_LEASE_OVER);
	if (fsw_session.owner)
		fsw_watchdog_arm();
	mutex_unlock(&fsw_mutex);
}

void fsw_session_open(void)
{
	mutex_lock(&fsw_mutex);
	fsw_session.open = true;
	fsw_gate_open(true);
	mutex_unlock(&fsw_mutex);
}

void fsw_session_close(void)
{
	mutex_lock(&fsw_mutex);
	fsw_session.open = false;
	fsw_session_end(FSW_SWAP_UNPATCH);
	fsw_gate_open(false);
	mutex_unlock(&fsw_mutex);
	cancel_delayed_work_sync(&fsw_watchdog);
	/* No patched function still holds a word that it read before. */
	synchronize_rcu();
}

static void fsw_lease_renew(void)
{
	fsw_session.lease_end = jiffies + msecs_to_jiffies(fsw_session.lease_ms);
}

static int fsw_begin_locked(struct file *file, struct fsw_session *session)
{
	if (session->lease_ms < FSW_LEASE_MIN_MS ||
	    session->lease_ms > FSW_LEASE_MAX_MS)
		return -EINVAL;
	if (!fsw_session.open)
		return -ENODEV;
	if (fsw_session.owner) {
		session->owner_pid = pid_nr(fsw_session.opener);
		return -EBUSY;
	}
	fsw_ring_reset();
	fsw_task_forget();
	fsw_watch_change(&(struct fsw_watch){ .op = FSW_WATCH_CLEAR });
	fsw_filter_change(&(struct fsw_filter){});
	fsw_flight_setup(&(struct fsw_trigger){});
	fsw_session.owner = file;
	fsw_session.opener = get_task_pid(current, PIDTYPE_TGID);
	fsw_session.lease_ms = session->lease_ms;
	fsw_lease_renew();
	fsw_watchdog_arm();
	return 0;
}

int fsw_session_begin(struct file *file, struct fsw_session *session)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_begin_locked(file, session);
	mutex_unlock(&fsw_mutex);
	return error;
}

/* Not for a child, which closes what it inherited when it starts a program. */
void fsw_session_flush(struct file *file)
{
	mutex_lock(&fsw_mutex);
	if (fsw_session.owner == file && fsw_session.opener == task_tgid(current))
		fsw_session_end(FSW_SWAP_SESSION_END);
	mutex_unlock(&fsw_mutex);
}

void fsw_session_release(struct file *file)
{
	mutex_lock(&fsw_mutex);
	if (fsw_session.owner == file)
		fsw_session_end(FSW_SWAP_SESSION_END);
	mutex_unlock(&fsw_mutex);
}

/* The descriptor's own session, alive. */
static int fsw_session_check(const struct file *file)
{
	if (!fsw_session.owner)
		return -ENOLINK;
	return fsw_session.owner == file ? 0 : -EPERM;
}

int fsw_session_lease(struct file *file)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_session_check(file);
	if (!error)
		fsw_lease_renew();
	mutex_unlock(&fsw_mutex);
	return error;
}

static int fsw_set_locked(struct fsw_set *set)
{
	if (set->arm > FSW_WORD_ARM_MAX || set->positions & ~FSW_ALL_VARIANTS)
		return -EINVAL;
	if (!set->arm && set->positions != FSW_STOCK_WORD)
		return -EINVAL;
	if (!fsw_session.owner)
		return -ENOLINK;
	fsw_gate_swap(set, FSW_SWAP_SET);
	return 0;
}

int fsw_session_set(struct fsw_set *set)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_set_locked(set);
	mutex_unlock(&fsw_mutex);
	return error;
}

/* A Brief tells of no entity, and Requeue and Delay are about one. */
static u32 fsw_kinds_of(const struct fsw_record_ctl *ctl)
{
	u32 kinds = ctl->kinds;

	if (ctl->detail == FSW_DETAIL_FULL)
		return kinds;
	if (kinds & BIT(FSW_KIND_DECISION))
		kinds |= BIT(FSW_KIND_BRIEF);
	return kinds & ~(BIT(FSW_KIND_DECISION) | BIT(FSW_KIND_REQUEUE) |
			 BIT(FSW_KIND_DELAY));
}

static int fsw_record_locked(struct file *file, const struct fsw_record_ctl *ctl)
{
	int error = fsw_session_check(file);

	if (error)
		return error;
	if (ctl->detail > FSW_DETAIL_BRIEF || ctl->kinds & ~FSW_ALL_KINDS ||
	    (ctl->kinds && !fsw_kinds_of(ctl)))
		return -EINVAL;
	if (!ctl->kinds) {
		fsw_recording_stop();
		return 0;
	}
	error = fsw_probe_attach();
	if (error)
		return error;
	fsw_flight_start();
	fsw_ring_set_kinds(fsw_kinds_of(ctl));
	fsw_gate_listen(FSW_LISTENER_RECORD, ctl->detail == FSW_DETAIL_FULL ?
			FSW_WORD_LISTENING : FSW_WORD_TAPS);
	return 0;
}

int fsw_session_record(struct file *file, const struct fsw_record_ctl *ctl)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_record_locked(file, ctl);
	mutex_unlock(&fsw_mutex);
	return error;
}

int fsw_session_watch(struct file *file, const struct fsw_watch *watch)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_session_check(file);
	if (!error)
		error = fsw_watch_change(watch);
	mutex_unlock(&fsw_mutex);
	return error;
}

int fsw_session_filter(struct file *file, const struct fsw_filter *filter)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_session_check(file);
	if (!error)
		error = fsw_filter_change(filter);
	mutex_unlock(&fsw_mutex);
	return error;
}

static int fsw_trigger_locked(struct file *file, const struct fsw_trigger *trigger)
{
	int error = fsw_session_check(file);

	if (error)
		return error;
	return fsw_ring_kinds() ? -EALREADY : fsw_flight_setup(trigger);
}

int fsw_session_trigger(struct file *file, const struct fsw_trigger *trigger)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_trigger_locked(file, trigger);
	mutex_unlock(&fsw_mutex);
	return error;
}

int fsw_session_rearm(struct file *file)
{
	int error;

	mutex_lock(&fsw_mutex);
	error = fsw_session_check(file);
	if (!error)
		error = fsw_flight_rearm();
	mutex_unlock(&fsw_mutex);
	return error;
}

static void fsw_record_mark(const struct fsw_mark *mark)
{
	struct fsw_marker_record record =
		FSW_RECORD_TEMPLATE(FSW_KIND_MARKER, marker, MARKER);
	unsigned long flags;

	record.body.id = mark->id;
	record.body.value = mark->value;
	local_irq_save(flags);
	record.body.stamp.time_ns = ktime_get_mono_fast_ns();
	fsw_ring_publish(&record, sizeof(record), FSW_KIND_MARKER,
			 smp_processor_id(), false);
	local_irq_restore(flags);
}

int fsw_session_mark(struct file *file, const struct fsw_mark *mark)
{
	int error;

	if (mark->reserved)
		return -EINVAL;
	mutex_lock(&fsw_mutex);
	error = fsw_session_check(file);
	if (!error && fsw_ring_kinds())
		fsw_record_mark(mark);
	mutex_unlock(&fsw_mutex);
	return error;
}

static u64 fsw_decisions_sum(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(fsw_decisions, cpu);
	return sum;
}

void fsw_session_status(struct fsw_status *status)
{
	mutex_lock(&fsw_mutex);
	fsw_gate_status(status);
	status->state = fsw_session.open ? FSW_STATE_OPEN : FSW_STATE_CLOSED;
	status->recording = fsw_ring_kinds();
	status->owner_pid = fsw_session.owner ? pid_nr(fsw_session.opener) : 0;
	status->last_end = fsw_session.last_end;
	status->watched = fsw_watch_count();
	status->decisions = fsw_decisions_sum();
	status->switches = fsw_probe_switches();
	status->filtered = fsw_ring_filtered_sum();
	fsw_flight_status(status);
	status->lease_ms = fsw_session.owner ? fsw_session.lease_ms : 0;
	mutex_unlock(&fsw_mutex);
}
