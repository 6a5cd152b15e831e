// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds threads that are amid a transfer. */
#include "tracee/transfer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
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

/* "flags:\t0104002", octal, is one of the lines. */
static bool has_flag(pid_t pid, int fd, unsigned long flag)
{
	static const char label[] = "flags:";
	struct buf text = {0};
	const char *line;
	char name[32];
	bool has_it;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	proc_read_process_file(pid, name, &text);
	line = strstr(buf_str(&text), label);
	has_it = line && strtoul(line + strlen(label), NULL, 8) & flag;
	buf_release(&text);
	return has_it;
}

bool transfer_never_waits(pid_t pid, const struct proc_syscall *syscall)
{
	return syscall->kind == PROC_SYSCALL_INSIDE && syscall_obeys_flag(syscall->nr) &&
	       (is_of(pid, syscall, "socket:") || is_of(pid, syscall, "pipe:")) &&
	       has_flag(pid, (int)syscall->args[0], O_NONBLOCK);
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
