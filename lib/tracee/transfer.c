// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds threads that are amid a transfer. */
#include "tracee/transfer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/mounts.h"
#include "proc/kernel_stack.h"
#include "proc/read.h"
#include "syscall/traits.h"
#include "tracee/tracee_priv.h"

/* Does the first argument, a descriptor, refer to a file with a name that begins like this? */
static bool is_of(pid_t pid, const struct proc_syscall *syscall, const char *beginning)
{
	char name[32], target[16];

	snprintf(name, sizeof(name), "fd/%d", (int)syscall->args[0]);
	return proc_read_process_link(pid, name, target, sizeof(target)) &&
	       strncmp(target, beginning, strlen(beginning)) == 0;
}

/* A terminal may have delivered a part by now, which it would return (VMIN of termios(3)). */
static bool reads_device(pid_t pid, const struct proc_syscall *syscall)
{
	return syscall_reads(syscall->nr) && is_of(pid, syscall, "/dev/");
}

/* A pipe takes PIPE_BUF bytes at once or none, a terminal or a connection any number. */
bool transfer_waits_for_room(pid_t pid, const struct proc_syscall *syscall)
{
	uint64_t nr_bytes = syscall->kind == PROC_SYSCALL_INSIDE
				    ? syscall_written_bytes(syscall->nr, syscall->args)
				    : 0;

	return nr_bytes > PIPE_BUF ||
	       (nr_bytes > 1 && (is_of(pid, syscall, "/dev/") || is_of(pid, syscall, "socket:")));
}

bool transfer_is_made(pid_t pid, const struct proc_syscall *syscall)
{
	return syscall->kind == PROC_SYSCALL_INSIDE &&
	       (syscall_transfers(syscall->nr, syscall->args) || reads_device(pid, syscall));
}

/*
 * The number in a line of fdinfo, as "flags:\t0104002"; false: there is none. These lines come
 * first, and then any number of others.
 */
static bool fdinfo_number(pid_t pid, int fd, const char *label, int base, unsigned long *number)
{
	cleanup_close int info = -1;
	char name[32], text[256];
	const char *line;
	ssize_t got;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	info = proc_open_task_file(pid, pid, name);
	got = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	line = strstr(text, label);
	if (line)
		*number = strtoul(line + strlen(label), NULL, base);
	return line;
}

static bool has_flag(pid_t pid, int fd, unsigned long flag)
{
	unsigned long flags;

	return fdinfo_number(pid, fd, "flags:", 8, &flags) && flags & flag;
}

bool transfer_never_waits(pid_t pid, const struct proc_syscall *syscall)
{
	return syscall->kind == PROC_SYSCALL_INSIDE && syscall_obeys_flag(syscall->nr) &&
	       (is_of(pid, syscall, "socket:") || is_of(pid, syscall, "pipe:")) &&
	       has_flag(pid, (int)syscall->args[0], O_NONBLOCK);
}

/* File systems that look for a signal that kills in a transfer, and for no other. */
static bool is_of_disk(const struct mount_line *mount)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (mount_line_is_type(mount, types[i]))
			return true;
	return false;
}

/* The table of thousands of mounts; more is not read, as the thread may wait for us. */
#define MOUNTS_MAX_BYTES (1024 * 1024)

static bool is_mounted_from_disk(pid_t pid, uint64_t id)
{
	struct buf text = {0};
	struct mounts_iter mounts;
	struct mount_line mount;
	bool is_there = false;

	proc_read_process_file_within(pid, "mountinfo", MOUNTS_MAX_BYTES, &text);
	mounts = mounts_over(buf_str(&text), text.nr_bytes);
	while (!is_there && mounts_next(&mounts, &mount))
		is_there = mount.id == id && is_of_disk(&mount);
	buf_release(&text);
	return is_there;
}

/* The mount that the file of a descriptor is in; false: it has none. */
static bool mount_of(pid_t pid, int fd, unsigned long *mount)
{
	return fdinfo_number(pid, fd, "mnt_id:", 10, mount);
}

/*
 * A server (FUSE) may keep us waiting for ever. So no file system is asked before it is known:
 * O_PATH asks none, and what we have open then cannot be exchanged any more, as the descriptor can.
 */
static bool is_regular_on(pid_t pid, int fd, unsigned long mount)
{
	cleanup_close int own = -1;
	unsigned long own_mount;
	struct stat file;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	own = open(path, O_PATH | O_CLOEXEC);
	return own >= 0 && mount_of(getpid(), own, &own_mount) && own_mount == mount &&
	       fstat(own, &file) == 0 && S_ISREG(file.st_mode);
}

/* The name comes first: the kernel composes all of fdinfo, megabytes for epoll and inotify. */
bool transfer_is_of_file(pid_t pid, const struct proc_syscall *syscall)
{
	int fd = (int)syscall->args[0];
	unsigned long mount;

	return syscall->kind == PROC_SYSCALL_INSIDE && syscall_obeys_flag(syscall->nr) &&
	       is_of(pid, syscall, "/") && mount_of(pid, fd, &mount) &&
	       is_mounted_from_disk(pid, mount) && is_regular_on(pid, fd, mount);
}

bool transfer_is_begun(pid_t pid, const struct proc_syscall *syscall)
{
	if (syscall->kind == PROC_SYSCALL_INSIDE && syscall_goes_on(syscall->nr))
		return true;
	if (transfer_waits_for_room(pid, syscall))
		return true;
	return transfer_is_made(pid, syscall) &&
	       (!syscall_restarts_unseen(syscall->nr, syscall->args) || reads_device(pid, syscall));
}

static enum transfer_stack on_stack(const char *text, size_t nr_bytes)
{
	if (!nr_bytes)
		return TRANSFER_STACK_HIDDEN;
	return kernel_stack_shows_transfer(text, nr_bytes) ? TRANSFER_STACK_AMID
							   : TRANSFER_STACK_OUTSIDE;
}

enum transfer_stack transfer_on_stack(pid_t pid, pid_t tid)
{
	cleanup_close int fd = proc_open_task_file(pid, tid, "stack");
	char text[KERNEL_STACK_TEXT_BYTES];
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return on_stack(text, got > 0 ? (size_t)got : 0);
}

enum transfer_stack transfer_of_tracee(struct tracee *tracee)
{
	char text[KERNEL_STACK_TEXT_BYTES];

	return on_stack(text, tracee_read_kernel_stack(tracee, text, sizeof(text)));
}
