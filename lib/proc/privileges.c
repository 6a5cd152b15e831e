// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/privileges.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "proc/read.h"

bool proc_lacks_set_user_id(pid_t pid)
{
	struct proc_status status;
	struct statvfs mount;
	struct stat file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &file) < 0 || !(file.st_mode & S_ISUID) || !proc_read_status(pid, &status))
		return false;
	if (file.st_uid == status.effective_uid || status.no_new_privileges)
		return false;
	return statvfs(path, &mount) == 0 && !(mount.f_flag & ST_NOSUID);
}
