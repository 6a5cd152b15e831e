/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_TERMINAL_H
#define PROFC_TARGET_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Is that, which a link in /proc/PID/fd shows, a terminal? */
bool terminal_is_name(const char *path);
/* Is a descriptor of a thread a terminal? By its name in /proc; without opening it. */
bool terminal_is(pid_t tid, int fd);

/*
 * How many bytes a read of it waits for: 1, or in raw mode what its owner has said (VMIN,
 * termios(3)). 1 for what is no terminal, or cannot be asked. Its descriptor is copied for that.
 */
uint64_t terminal_least_bytes(pid_t tid, int fd);

#endif
