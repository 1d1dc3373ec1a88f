/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAIRSWITCH_DEVICE_H
#define FAIRSWITCH_DEVICE_H

int fsw_device_create(void);
void fsw_device_destroy(void);

#endif /* FAIRSWITCH_DEVICE_H */
