// SPDX-License-Identifier: GPL-2.0-or-later
/* Detects set-user-ID programs that run without the privileges of that user. */
#include "proc/privileges.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/mounts.h"
#include "proc/read.h"

/* Before Linux 5.8 statx(2) gives the file system only, not the mount. */
static bool is_mount_of(const struct proc_mount *mount, const struct statx *file)
{
	if (file->stx_mask & STATX_MNT_ID)
		return mount->id == file->stx_mnt_id;
	return mount->dev_major == file->stx_dev_major && mount->dev_minor == file->stx_dev_minor;
}

static bool find_mount(pid_t pid, const struct statx *file, bool *is_nosuid)
{
	struct buf text = {0};
	struct proc_mounts_iter mounts;
	struct proc_mount mount;
	bool is_found = false;

	if (proc_read_process_file(pid, "mountinfo", &text)) {
		mounts = proc_mounts_over(buf_str(&text), text.nr_bytes);
		while (!is_found && proc_mounts_next(&mounts, &mount))
			is_found = is_mount_of(&mount, file);
	}
	if (is_found)
		*is_nosuid = proc_mount_has_option(&mount, "nosuid");
	buf_release(&text);
	return is_found;
}

static bool honours_set_user_id(pid_t pid, const struct statx *file)
{
	bool is_nosuid = false;

	/* After a chroot(2) the path does not include the former root. */
	return (find_mount(pid, file, &is_nosuid) || find_mount(getpid(), file, &is_nosuid)) &&
	       !is_nosuid;
}

/*
 * AT_STATX_DONT_SYNC: a FUSE server may be stopped by profc and must not be queried. The cached
 * attributes are from the execve(2) just before.
 */
bool proc_lacks_set_user_id(pid_t pid)
{
	struct proc_status status;
	struct statx file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MODE | STATX_UID | STATX_MNT_ID,
		  &file) < 0)
		return false;
	if (!(file.stx_mode & S_ISUID) || !proc_read_status(pid, &status) ||
	    file.stx_uid == status.effective_uid || status.no_new_privileges)
		return false;
	return honours_set_user_id(pid, &file);
}
