/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAIRSWITCH_LAG_TAP_H
#define FAIRSWITCH_LAG_TAP_H

/* The taps themselves are in tap.h: fair.c sees only that. */
int fsw_lag_tap_init(void);
void fsw_lag_tap_exit(void);

#endif /* FAIRSWITCH_LAG_TAP_H */
