// SPDX-License-Identifier: GPL-2.0
/*
 * During a transition old and new functions run side by side, chosen by task,
 * not by runqueue. That is safe since each new function with all gates at
 * stock leaves every state as the old one would. So gates and recording open
 * only when patching is complete, and close before unpatching begins.
 */
#include <linux/kernel.h>
#include <linux/livepatch.h>
#include <linux/module.h>

#include "patch.h"
#include "session.h"

#include "fairswitch_patchset.h"	/* generated: FSW_PATCH_SET(X) */

/* Only addresses are taken here: fair.c has the prototypes. */
#define FSW_PATCH_DECLARE(function, position)	extern char function[];
FSW_PATCH_SET(FSW_PATCH_DECLARE)

#define FSW_PATCH_ENTRY(function, position)	\
	{ .old_name = #function, .new_func = function, .old_sympos = position },
static struct klp_func fsw_functions[] = {
	FSW_PATCH_SET(FSW_PATCH_ENTRY)
	{ }
};

static void fsw_post_patch(struct klp_object *object)
{
	fsw_session_open();
}

/*
 * Also runs when a transition is reversed. If another livepatch replaces this
 * one no callback runs; then decisions stop while switches go on, which
 * status shows.
 */
static void fsw_pre_unpatch(struct klp_object *object)
{
	fsw_session_close();
}

static struct klp_object fsw_objects[] = {
	{
		/* No name: vmlinux. */
		.funcs = fsw_functions,
		.callbacks = {
			.post_patch = fsw_post_patch,
			.pre_unpatch = fsw_pre_unpatch,
		},
	},
	{ }
};

static struct klp_patch fsw_patch = {
	.mod = THIS_MODULE,
	.objs = fsw_objects,
};

int fsw_patch_enable(void)
{
	return klp_enable_patch(&fsw_patch);
}

u32 fsw_patch_count(void)
{
	return ARRAY_SIZE(fsw_functions) - 1;
}
