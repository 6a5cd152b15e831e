/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_READ_H
#define PROFC_PROC_READ_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/task.h"

struct buf;

/*
 * Small bounded readers of /proc. A process or thread that is gone (or hidden)
 * is an ordinary answer: they return false, or -1, with errno set.
 */

/* No file but maps is longer than a few KiB; this bounds one read. */
#define PROC_FILE_MAX_BYTES (64 * 1024 * 1024)

/*
 * Is there a process or thread with this id in our PID namespace? False sets ENOENT.
 *
 * While one is being reaped the kernel drops the names in its directory. Whatever looks one up then
 * helps with that, in a loop until the other is done. At real-time priority, on the CPU of the
 * thread that reaps, the loop ends only when the kernel gives that CPU to others, or never, and not
 * even SIGKILL ends it. The id is gone before its names are, and the thread that we keep from its
 * CPU gets no further meanwhile: so all functions here ask this, which needs no right, before they
 * look up a name, and so should others.
 */
bool proc_exists(pid_t id);

/*
 * Append the whole file to `out`. False where that fails, as it does when the process ends amid it:
 * `out` is as before then, and has no memory if it had none.
 */
bool proc_read_file(const char *path, struct buf *out);
/* As above for /proc/PID/NAME and /proc/PID/task/TID/NAME. */
bool proc_read_process_file(pid_t pid, const char *name, struct buf *out);
/* EFBIG: it is no shorter than that, which is not all read then. */
bool proc_read_process_file_within(pid_t pid, const char *name, size_t max_bytes, struct buf *out);
/* The target of /proc/PID/NAME, a link; `out` gets a C string. */
bool proc_read_process_link(pid_t pid, const char *name, char *out, size_t cap);

/* A descriptor on /proc/TGID/task/TID/NAME for repeated pread()s, close-on-exec; -1: errno. */
int proc_open_task_file(pid_t tgid, pid_t tid, const char *name);

bool proc_read_schedstat(int fd, struct proc_schedstat *schedstat);
bool proc_read_syscall(int fd, struct proc_syscall *syscall);
bool proc_read_task_stat(pid_t tgid, pid_t tid, struct proc_stat *stat);
bool proc_read_stat(int fd, struct proc_stat *stat);
/* Of a whole process, its ended threads included. */
bool proc_read_process_stat(pid_t pid, struct proc_stat *stat);
/* Or is it exiting, perhaps not reaped yet? */
bool proc_task_has_ended(pid_t tgid, pid_t tid);
bool proc_read_status(pid_t tid, struct proc_status *status);
bool proc_read_status_of(int fd, struct proc_status *status);
/* The id of a process as itself sees it, in its PID namespace; `pid`, if its status cannot be read.
 */
pid_t proc_own_pid(pid_t pid);
/* The process that traces a thread, or 0; false: one of them is gone. */
bool proc_read_tracer(pid_t tid, pid_t *tracer);
/* The thread's name without the newline; `out` is a C string, cut at cap. */
bool proc_read_comm(pid_t tgid, pid_t tid, char *out, size_t cap);

/* Children that the thread has started, and that were not waited for; true if we cannot know. */
bool proc_has_children(pid_t tgid, pid_t tid);

/* The id of the next process in an open /proc, or thread in /proc/PID/task; 0: there is none. */
pid_t proc_next_id(DIR *directory);

/*
 * Call `each` for every thread of a process; a false return stops early.
 * Returns the number of threads seen, or -1 with errno.
 */
int proc_for_each_task(pid_t tgid, bool (*each)(void *context, pid_t tid), void *context);

#endif
