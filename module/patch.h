/* SPDX-License-Identifier: GPL-2.0 */
/* The livepatch: which functions, and when gates open and close. */
#ifndef FAIRSWITCH_PATCH_H
#define FAIRSWITCH_PATCH_H

#include <linux/types.h>

/* Can't be undone from a failing init: the last fallible step. */
int fsw_patch_enable(void);
u32 fsw_patch_count(void);

#endif /* FAIRSWITCH_PATCH_H */
