// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/read.h"

bool terminal_is_name(const char *path)
{
	return strncmp(path, "/dev/pts/", 9) == 0 || strncmp(path, "/dev/tty", 8) == 0;
}

bool terminal_is(pid_t tid, int fd)
{
	char name[32];
	char target[64];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return proc_read_process_link(tid, name, target, sizeof(target)) &&
	       terminal_is_name(target);
}

static int copy_terminal(pid_t tid, int fd)
{
	struct proc_status status;
	cleanup_close int process = terminal_is(tid, fd) && proc_read_status(tid, &status)
					    ? (int)syscall(SYS_pidfd_open, status.tgid, 0)
					    : -1;

	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

uint64_t terminal_least_bytes(pid_t tid, int fd)
{
	cleanup_close int copy = copy_terminal(tid, fd);
	struct termios settings;

	if (copy < 0 || tcgetattr(copy, &settings) != 0 || settings.c_lflag & ICANON)
		return 1;
	return settings.c_cc[VMIN] ? settings.c_cc[VMIN] : 1;
}
