// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/task_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

/* The first edition of the kernel's struct, which headers of today often lack. */
struct info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t user_ids[8];
	int32_t exit_code;
};

_Static_assert(sizeof(struct info) == 64, "PIDFD_INFO_SIZE_VER0");

#define GET_INFO _IOWR(0xFF, 11, struct info)
#define HAS_IDS	 1
/* PIDFD_THREAD: also of a thread that leads no process. */
#define OF_THREAD O_EXCL

enum task_ids_outcome proc_read_task_ids(pid_t tid, struct task_ids *ids)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, tid, OF_THREAD);
	struct info info = {.mask = HAS_IDS};

	if (fd < 0 || ioctl(fd, GET_INFO, &info) < 0)
		return errno == ESRCH ? TASK_IDS_GONE : TASK_IDS_HIDDEN;
	if (!(info.mask & HAS_IDS))
		return TASK_IDS_HIDDEN;
	*ids = (struct task_ids){.tgid = (pid_t)info.tgid, .parent = (pid_t)info.ppid};
	return TASK_IDS_READ;
}
