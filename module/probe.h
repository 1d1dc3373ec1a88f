/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoint probes: wakeups and switches of watched threads. */
#ifndef FAIRSWITCH_PROBE_H
#define FAIRSWITCH_PROBE_H

#include <linux/types.h>

/* Looks the tracepoints up; -ENOENT if this kernel lacks one. */
int fsw_probe_init(void);
void fsw_probe_exit(void);

int fsw_probe_attach(void);
/* Waits until no probe runs any more. */
void fsw_probe_detach(void);

/* Context switches seen since load. */
u64 fsw_probe_switches(void);

#endif /* FAIRSWITCH_PROBE_H */
