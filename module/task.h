/* SPDX-License-Identifier: GPL-2.0 */
/* Task records on first sight and on change, and which tasks are watched. */
#ifndef FAIRSWITCH_TASK_H
#define FAIRSWITCH_TASK_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <fairswitch/device.h>

struct task_struct;

int fsw_task_init(void);
void fsw_task_exit(void);

/* Forgets what was seen: a new session's log starts with its tasks. */
void fsw_task_forget(void);

/* The same on this CPU only. Interrupts are off. */
void fsw_task_forget_here(void);

/* Writes a Task record unless this CPU wrote the same lately. Interrupts off. */
void fsw_task_seen(const struct task_struct *p);

/* Session side; errno as in uapi/fairswitch/device.h. */
int fsw_watch_change(const struct fsw_watch *watch);

extern u32 fsw_watch_used;

static inline u32 fsw_watch_count(void)
{
	return READ_ONCE(fsw_watch_used);
}

/* Any context. */
bool fsw_watched(const struct task_struct *p);

#endif /* FAIRSWITCH_TASK_H */
