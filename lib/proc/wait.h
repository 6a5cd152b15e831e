/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_WAIT_H
#define PROFC_PROC_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/task.h"

/* The wait of a thread, read from /proc at one moment, without stopping the thread. */
struct proc_wait {
	char state;		     /* as in proc_stat */
	struct proc_syscall syscall; /* .kind RUNNING where that cannot be read */
	int fd;			     /* the descriptor that the system call is about, or -1 */
	char object[256];	     /* the descriptor's file: "/path", "pipe:[123]", …; or "" */
	pid_t owner;		     /* the thread that holds the lock; 0: no lock, or unknown */
};

/*
 * False if the thread is gone. System call numbers are those of the machine `arch`, named as by
 * uname(2). The owner is read where the C library keeps it, two words after that of a mutex (glibc)
 * or in the futex itself (priority inheritance), and believed only if it is another thread of the
 * process.
 */
bool proc_read_wait(pid_t tgid, pid_t tid, const char *arch, struct proc_wait *wait);

#endif
