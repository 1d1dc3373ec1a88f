/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels of the hand-written code. Whatever stands in
 * fair.c itself is adapted to by semantic patches, not here.
 */
#ifndef FAIRSWITCH_COMPAT_H
#define FAIRSWITCH_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#error "fairswitch: field names of cfs_rq and sched_entity are known for Linux 6.12 only"
#endif

#endif /* FAIRSWITCH_COMPAT_H */
