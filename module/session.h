/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The session: who may change arms and record, and the dead-man's switch. It
 * belongs to a descriptor, to the process that opened it, and to a lease; the
 * first of the three to go ends it, and every runqueue is back at stock.
 *
 *            SESSION                    close, lease over, opener dead,
 *   none ------------> live ------------------ unpatch -------> none
 *                      | SET, RECORD, WATCH, MARK, LEASE
 *                      +---+
 */
#ifndef FAIRSWITCH_SESSION_H
#define FAIRSWITCH_SESSION_H

#include <linux/fs.h>

#include <fairswitch/device.h>

/* Patching is complete: sessions may begin. */
void fsw_session_open(void);
/* Unpatching begins: ends the session; none may begin. */
void fsw_session_close(void);

int fsw_session_begin(struct file *file, struct fsw_session *session);
/* On close() of a descriptor: ends the session if its opener closes it. */
void fsw_session_flush(struct file *file);
/* When the last reference to the file is gone. */
void fsw_session_release(struct file *file);

int fsw_session_lease(struct file *file);
int fsw_session_set(struct fsw_set *set);
int fsw_session_record(struct file *file, const struct fsw_record_ctl *ctl);
int fsw_session_watch(struct file *file, const struct fsw_watch *watch);
int fsw_session_filter(struct file *file, const struct fsw_filter *filter);
int fsw_session_trigger(struct file *file, const struct fsw_trigger *trigger);
int fsw_session_rearm(struct file *file);
int fsw_session_mark(struct file *file, const struct fsw_mark *mark);
void fsw_session_status(struct fsw_status *status);

#endif /* FAIRSWITCH_SESSION_H */
