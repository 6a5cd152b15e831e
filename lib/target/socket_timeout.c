// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/socket_timeout.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"

/* Other files may have something to do when a copy is closed (FUSE asks its server); these not. */
static bool is_socket(pid_t pid, int fd)
{
	char name[32];
	char target[64];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return proc_read_process_link(pid, name, target, sizeof(target)) &&
	       strncmp(target, "socket:", 7) == 0;
}

static int copy_descriptor(pid_t pid, int fd)
{
	cleanup_close int process = (int)syscall(SYS_pidfd_open, pid, 0);

	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

/* More is as good as for ever. */
#define LONGEST_S (INT64_C(1) << 30)

static bool read_option(int fd, int option, uint64_t *timeout_ns)
{
	struct timeval timeout = {0};
	socklen_t nr_bytes = sizeof(timeout);

	if (getsockopt(fd, SOL_SOCKET, option, &timeout, &nr_bytes) != 0 || timeout.tv_sec < 0 ||
	    timeout.tv_sec > LONGEST_S || timeout.tv_usec < 0)
		return false;
	*timeout_ns = (uint64_t)timeout.tv_sec * NS_PER_SEC + (uint64_t)timeout.tv_usec * NS_PER_US;
	return *timeout_ns; /* 0: none */
}

bool socket_timeout_read(pid_t pid, int fd, enum socket_direction direction,
			 struct socket_timeout *timeout)
{
	struct socket_timeout found = {0};
	socklen_t nr_bytes = sizeof(found.domain);
	cleanup_close int copy = is_socket(pid, fd) ? copy_descriptor(pid, fd) : -1;

	if (copy < 0 || getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &found.domain, &nr_bytes) != 0 ||
	    !read_option(copy, direction == SOCKET_RECEIVES ? SO_RCVTIMEO : SO_SNDTIMEO,
			 &found.timeout_ns))
		return false;
	*timeout = found;
	return true;
}
