// SPDX-License-Identifier: GPL-2.0-or-later
/* The profc that has made the memory of probes. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scan.h"
#include "inject/region.h"
#include "proc/read.h"

static uint64_t own_pid_namespace(void)
{
	struct stat found;

	return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

struct region_owner region_own_identity(void)
{
	struct proc_stat self = {.start_ticks = 0};

	proc_read_task_stat(getpid(), getpid(), &self);
	return (struct region_owner){.pid = getpid(),
				     .start_ticks = self.start_ticks,
				     .pid_namespace = own_pid_namespace()};
}

bool region_read_name(const char *name, struct region_owner *owner)
{
	struct scan scan = {.at = name, .end = name + strlen(name)};
	uint64_t pid;

	if (strncmp(name, REGION_NAME, strlen(REGION_NAME)) != 0)
		return false;
	scan.at += strlen(REGION_NAME);
	if (!scan_char(&scan, '-') || !scan_decimal(&scan, &pid) || !scan_char(&scan, '-') ||
	    !scan_decimal(&scan, &owner->start_ticks) || !scan_char(&scan, '-') ||
	    !scan_decimal(&scan, &owner->pid_namespace) || pid > INT32_MAX)
		return false;
	owner->pid = (int32_t)pid;
	return true;
}
