/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flight recorder: overwriting rings, frozen a while after a watched
 * thread waited too long between its wakeup and its switch-in.
 *
 *          RECORD           late            after_ms over       REARM
 *   off ----------> armed ------> triggered -------------> frozen ------> armed
 *    ^                |               |                      |
 *    +----------------+---------------+----------------------+  recording stops
 *
 * Frozen, a record is dropped and counted, and the reader copies what it wants.
 */
#ifndef FAIRSWITCH_FLIGHT_H
#define FAIRSWITCH_FLIGHT_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <fairswitch/device.h>

/* Session side: one caller at a time, may sleep. Only while nothing is recorded. */
int fsw_flight_setup(const struct fsw_trigger *trigger);
void fsw_flight_start(void);
/* Waits for what is on its way to freezing; what triggered stays in the status. */
void fsw_flight_stop(void);
/* Empties the rings; -EAGAIN unless they are frozen. */
int fsw_flight_rearm(void);
/* The rings are frozen and may be read. */
bool fsw_flight_frozen(void);
void fsw_flight_status(struct fsw_status *status);

extern u64 fsw_flight_latency_ns;	/* 0: no trigger */

void __fsw_flight_late(u64 latency_ns, u64 now_ns);

/* A watched thread is switched in. The runqueue is locked. */
static __always_inline void fsw_flight_switched_in(u64 latency_ns, u64 now_ns)
{
	u64 least = READ_ONCE(fsw_flight_latency_ns);

	if (unlikely(least && latency_ns > least))
		__fsw_flight_late(latency_ns, now_ns);
}

#endif /* FAIRSWITCH_FLIGHT_H */
