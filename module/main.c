// SPDX-License-Identifier: GPL-2.0
#include <linux/init.h>
#include <linux/module.h>

#include "device.h"
#include "filter.h"
#include "gate.h"
#include "lag_tap.h"
#include "patch.h"
#include "probe.h"
#include "ring.h"
#include "session.h"
#include "tap.h"
#include "task.h"

static int __init fsw_init(void)
{
	int error;

	fsw_gate_init();
	error = fsw_ring_create();
	if (error)
		return error;
	error = fsw_task_init();
	if (error)
		goto ring;
	error = fsw_tap_init();
	if (error)
		goto task;
	error = fsw_lag_tap_init();
	if (error)
		goto tap;
	error = fsw_probe_init();
	if (error)
		goto lag_tap;
	error = fsw_device_create();
	if (error)
		goto probe;
	error = fsw_patch_enable();
	if (error)
		goto device;
	return 0;

device:
	fsw_device_destroy();
probe:
	fsw_probe_exit();
lag_tap:
	fsw_lag_tap_exit();
tap:
	fsw_tap_exit();
task:
	fsw_task_exit();
ring:
	fsw_ring_destroy();
	return error;
}

/* Runs only once the functions are unpatched: livepatch holds the module. */
static void __exit fsw_exit(void)
{
	/* A patch that replaced ours ran no callback. */
	fsw_session_close();
	fsw_device_destroy();
	fsw_probe_exit();
	fsw_lag_tap_exit();
	fsw_tap_exit();
	fsw_task_exit();
	fsw_filter_exit();
	fsw_ring_destroy();
}

module_init(fsw_init);
module_exit(fsw_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Switches and decision records for the fair scheduler");
MODULE_INFO(livepatch, "Y");
