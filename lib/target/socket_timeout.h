/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_SOCKET_TIMEOUT_H
#define PROFC_TARGET_SOCKET_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whose time a call waits for. */
enum socket_direction {
	SOCKET_RECEIVES, /* SO_RCVTIMEO */
	SOCKET_SENDS,	 /* SO_SNDTIMEO */
};

struct socket_timeout {
	uint64_t timeout_ns;
	int domain; /* AF_UNIX, … */
};

/*
 * How long calls on a socket of a process wait at most: no file shows it, so the descriptor is
 * copied for a moment (pidfd_getfd(2), which asks for the right to trace). False if there is no
 * timeout, or it cannot be known. Nobody is stopped by it.
 */
bool socket_timeout_read(pid_t pid, int fd, enum socket_direction direction,
			 struct socket_timeout *timeout);

#endif
