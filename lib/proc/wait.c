// SPDX-License-Identifier: GPL-2.0-or-later
/* The wait of a blocked thread: system call, file, and the owner of a futex. */
#include "proc/wait.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/syscall_name.h"
#include "proc/read.h"
#include "proc/target_memory.h"

static bool waits_for_fd(const char *syscall)
{
	static const char *const names[] = {
		"accept",      "accept4",      "connect",	 "copy_file_range",
		"epoll_pwait", "epoll_pwait2", "epoll_wait",	 "fallocate",
		"fcntl",       "fdatasync",    "flock",		 "fsync",
		"ftruncate",   "getdents64",   "io_uring_enter", "ioctl",
		"pread64",     "preadv",       "preadv2",	 "pwrite64",
		"pwritev",     "pwritev2",     "read",		 "readv",
		"recvfrom",    "recvmmsg",     "recvmsg",	 "sendfile",
		"sendmmsg",    "sendmsg",      "sendto",	 "splice",
		"syncfs",      "tee",	       "vmsplice",	 "write",
		"writev",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], syscall) == 0)
			return true;
	}
	return false;
}

static void look_at_descriptor(pid_t tgid, struct proc_wait *wait)
{
	char name[32];

	if (wait->syscall.args[0] > INT_MAX)
		return;
	wait->fd = (int)wait->syscall.args[0];
	snprintf(name, sizeof(name), "fd/%d", wait->fd);
	if (!proc_read_process_link(tgid, name, wait->object, sizeof(wait->object)))
		wait->object[0] = '\0';
}

/* futex(2): the bits of its second argument for the operation, and the waiting operations. */
#define FUTEX_OPERATION	    0x7f
#define FUTEX_DOES_WAIT	    0
#define FUTEX_DOES_LOCK_PI  6
#define FUTEX_OWNER_OF_PI   UINT32_C(0x3fffffff)
#define FUTEX_WAIT_BITSET   9
#define FUTEX_LOCK_PI2	    13
#define MUTEX_IS_CONTENDED  2 /* glibc's mutexes wait with this value */
#define MUTEX_OWNER_AT_WORD 2

/* Zeroes where it cannot be read. */
static void read_words(pid_t tgid, uint64_t address, uint32_t *words, size_t nr_bytes)
{
	if (!target_memory_get_once(tgid, address, words, nr_bytes))
		memset(words, 0, nr_bytes);
}

struct search {
	pid_t tid;
	bool found;
};

static bool is_other_task(void *context, pid_t tid)
{
	struct search *search = context;

	search->found = tid == search->tid;
	return !search->found;
}

static void look_for_owner(pid_t tgid, pid_t tid, struct proc_wait *wait)
{
	uint64_t operation = wait->syscall.args[1] & FUTEX_OPERATION;
	uint32_t words[MUTEX_OWNER_AT_WORD + 1];
	struct search search = {0};

	read_words(tgid, wait->syscall.args[0], words, sizeof(words));
	if (operation == FUTEX_DOES_LOCK_PI || operation == FUTEX_LOCK_PI2)
		search.tid = (pid_t)(words[0] & FUTEX_OWNER_OF_PI);
	else if ((operation == FUTEX_DOES_WAIT || operation == FUTEX_WAIT_BITSET) &&
		 wait->syscall.args[2] == MUTEX_IS_CONTENDED && words[0] == MUTEX_IS_CONTENDED)
		search.tid = (pid_t)words[MUTEX_OWNER_AT_WORD];
	if (search.tid <= 0 || search.tid == tid)
		return;
	proc_for_each_task(tgid, is_other_task, &search);
	if (search.found)
		wait->owner = search.tid;
}

bool proc_read_wait(pid_t tgid, pid_t tid, const char *arch, struct proc_wait *wait)
{
	cleanup_close int fd = proc_open_task_file(tgid, tid, "syscall");
	struct proc_stat stat;
	const char *name;

	*wait = (struct proc_wait){.fd = -1};
	if (!proc_read_task_stat(tgid, tid, &stat))
		return false;
	wait->state = stat.state;
	if (fd < 0 || !proc_read_syscall(fd, &wait->syscall))
		wait->syscall.kind = PROC_SYSCALL_RUNNING;
	if (wait->syscall.kind != PROC_SYSCALL_INSIDE || wait->syscall.nr > INT_MAX)
		return true;
	name = syscall_name(arch, (int)wait->syscall.nr);
	if (name && waits_for_fd(name))
		look_at_descriptor(tgid, wait);
	else if (name && strcmp(name, "futex") == 0)
		look_for_owner(tgid, tid, wait);
	return true;
}
