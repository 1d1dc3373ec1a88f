// SPDX-License-Identifier: GPL-2.0
/* /dev/fairswitch: copies arguments in and out; session.c decides. */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "device.h"
#include "patch.h"
#include "ring.h"
#include "session.h"

#include "fairswitch_variants.h"

#define FSW_VARIANT_ENTRY(index, ID, name, stock)	{ index, stock, name, 0, 0 },
static const struct fsw_variant fsw_variants[FSW_VARIANT_COUNT + 1] = {
	FSW_VARIANTS(FSW_VARIANT_ENTRY)
};

/* Set by SESSION: such a descriptor may map the rings, then and later. */
#define FSW_MAY_MAP	((void *)1)

static int fsw_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	file->private_data = NULL;	/* misc_open() leaves its own there */
	return nonseekable_open(inode, file);
}

/*
 * On each close() of a descriptor. The open file lives on while a mapping or
 * an inherited descriptor does; the session must not.
 */
static int fsw_flush(struct file *file, fl_owner_t id)
{
	fsw_session_flush(file);
	return 0;
}

static int fsw_release(struct inode *inode, struct file *file)
{
	fsw_session_release(file);
	return 0;
}

static int fsw_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (file->private_data != FSW_MAY_MAP)
		return -EPERM;
	return fsw_ring_mmap(vma);
}

static __poll_t fsw_poll(struct file *file, poll_table *wait)
{
	return fsw_ring_poll(file, wait);
}

static void fsw_info_fill(struct fsw_info *info)
{
	struct fsw_status status = {};

	fsw_session_status(&status);
	info->abi = FSW_ABI;
	info->state = status.state;
	info->cpus = nr_cpu_ids;
	info->variants = FSW_VARIANT_COUNT;
	info->stock = FSW_STOCK_WORD;
	info->patched = fsw_patch_count();
	info->ring_bytes = fsw_ring_size();
}

static int fsw_variant_fill(struct fsw_variant *variant)
{
	if (variant->index >= FSW_VARIANT_COUNT)
		return -EINVAL;
	*variant = fsw_variants[variant->index];
	return 0;
}

/* Room for the largest argument. */
union fsw_argument {
	struct fsw_info info;
	struct fsw_variant variant;
	struct fsw_status status;
	struct fsw_session session;
	struct fsw_set set;
	struct fsw_record_ctl record;
	struct fsw_watch watch;
	struct fsw_mark mark;
	struct fsw_filter filter;
	struct fsw_trigger trigger;
};

static int fsw_session_ioctl(struct file *file, struct fsw_session *session)
{
	int error = fsw_session_begin(file, session);

	if (!error)
		file->private_data = FSW_MAY_MAP;
	return error;
}

static int fsw_do_ioctl(struct file *file, unsigned int command,
			union fsw_argument *argument)
{
	switch (command) {
	case FSW_IOC_INFO:
		fsw_info_fill(&argument->info);
		return 0;
	case FSW_IOC_VARIANT:
		return fsw_variant_fill(&argument->variant);
	case FSW_IOC_STATUS:
		fsw_session_status(&argument->status);
		return 0;
	case FSW_IOC_SESSION:
		return fsw_session_ioctl(file, &argument->session);
	case FSW_IOC_LEASE:
		return fsw_session_lease(file);
	case FSW_IOC_SET:
		return fsw_session_set(&argument->set);
	case FSW_IOC_RECORD:
		return fsw_session_record(file, &argument->record);
	case FSW_IOC_WATCH:
		return fsw_session_watch(file, &argument->watch);
	case FSW_IOC_MARK:
		return fsw_session_mark(file, &argument->mark);
	case FSW_IOC_FILTER:
		return fsw_session_filter(file, &argument->filter);
	case FSW_IOC_TRIGGER:
		return fsw_session_trigger(file, &argument->trigger);
	case FSW_IOC_REARM:
		return fsw_session_rearm(file);
	default:
		return -ENOTTY;
	}
}

/* EBUSY carries the owner's pid out, so results are copied on errors too. */
static long fsw_ioctl(struct file *file, unsigned int command,
		      unsigned long address)
{
	void __user *user = (void __user *)address;
	union fsw_argument argument = {};
	unsigned int bytes = _IOC_SIZE(command);
	int error;

	if (_IOC_TYPE(command) != 'F' || bytes > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(command) & _IOC_WRITE &&
	    copy_from_user(&argument, user, bytes))
		return -EFAULT;
	error = fsw_do_ioctl(file, command, &argument);
	if (error == -ENOTTY)
		return error;
	if (_IOC_DIR(command) & _IOC_READ &&
	    copy_to_user(user, &argument, bytes))
		return -EFAULT;
	return error;
}

static const struct file_operations fsw_file_operations = {
	.owner = THIS_MODULE,
	.open = fsw_open,
	.flush = fsw_flush,
	.release = fsw_release,
	.unlocked_ioctl = fsw_ioctl,
	.mmap = fsw_mmap,
	.poll = fsw_poll,
};

static struct miscdevice fsw_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fairswitch",
	.fops = &fsw_file_operations,
	.mode = 0600,
};

int fsw_device_create(void)
{
	return misc_register(&fsw_misc);
}

void fsw_device_destroy(void)
{
	misc_deregister(&fsw_misc);
}
