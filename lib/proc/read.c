// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounded reading of files in /proc. */
#include "proc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#define PATH_CAP 96 /* "/proc/PID/task/TID/NAME" with the longest of each */

static bool read_to_end(int fd, size_t max_bytes, struct buf *out)
{
	const size_t chunk = 32 * 1024;

	for (size_t total = 0; total < max_bytes;) {
		uint8_t *at = buf_extend(out, chunk);
		ssize_t got = read(fd, at, chunk);

		out->nr_bytes -= chunk - (size_t)(got > 0 ? got : 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		total += (size_t)got;
	}
	errno = EFBIG;
	return false;
}

static bool read_file(const char *path, size_t max_bytes, struct buf *out)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool was_unused = !out->bytes;
	size_t nr_before = out->nr_bytes;
	int error;

	if (fd >= 0 && read_to_end(fd, max_bytes, out))
		return true;
	error = errno;
	out->nr_bytes = nr_before;
	if (was_unused)
		buf_release(out);
	errno = error;
	return false;
}

bool proc_read_file(const char *path, struct buf *out)
{
	return read_file(path, PROC_FILE_MAX_BYTES, out);
}

bool proc_exists(pid_t id)
{
	if (syscall(SYS_getpriority, PRIO_PROCESS, id) >= 0 || errno != ESRCH)
		return true;
	errno = ENOENT; /* as for a file there */
	return false;
}

bool proc_read_process_file_within(pid_t pid, const char *name, size_t max_bytes, struct buf *out)
{
	char path[PATH_CAP];

	if (!proc_exists(pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_file(path, max_bytes, out);
}

bool proc_read_process_file(pid_t pid, const char *name, struct buf *out)
{
	return proc_read_process_file_within(pid, name, PROC_FILE_MAX_BYTES, out);
}

bool proc_read_process_link(pid_t pid, const char *name, char *out, size_t cap)
{
	char path[PATH_CAP];
	ssize_t got;

	if (!proc_exists(pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	got = readlink(path, out, cap - 1);
	if (got < 0)
		return false;
	out[got] = '\0';
	return true;
}

static int open_process_file(pid_t pid, const char *name)
{
	char path[PATH_CAP];

	if (!proc_exists(pid))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int proc_open_task_file(pid_t tgid, pid_t tid, const char *name)
{
	char path[PATH_CAP];

	if (!proc_exists(tgid) || (tid != tgid && !proc_exists(tid)))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)tgid, (int)tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool proc_read_schedstat(int fd, struct proc_schedstat *schedstat)
{
	char text[96];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_schedstat_parse(text, (size_t)got, schedstat);
}

bool proc_read_syscall(int fd, struct proc_syscall *syscall)
{
	char text[256];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_syscall_parse(text, (size_t)got, syscall);
}

/* One read of a file that is known to be short; 0 when it cannot be read. */
static size_t read_short_task_file(pid_t tgid, pid_t tid, const char *name, char *out, size_t cap)
{
	cleanup_close int fd = proc_open_task_file(tgid, tid, name);
	ssize_t got = fd < 0 ? -1 : read(fd, out, cap);

	return got > 0 ? (size_t)got : 0;
}

bool proc_read_task_stat(pid_t tgid, pid_t tid, struct proc_stat *stat)
{
	char text[1024];
	size_t got = read_short_task_file(tgid, tid, "stat", text, sizeof(text));

	return got && proc_stat_parse(text, got, stat);
}

bool proc_read_stat(int fd, struct proc_stat *stat)
{
	char text[1024];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_stat_parse(text, (size_t)got, stat);
}

bool proc_read_process_stat(pid_t pid, struct proc_stat *stat)
{
	cleanup_close int fd = open_process_file(pid, "stat");

	return fd >= 0 && proc_read_stat(fd, stat);
}

bool proc_task_has_ended(pid_t tgid, pid_t tid)
{
	struct proc_stat stat;

	return !proc_read_task_stat(tgid, tid, &stat) || stat.state == 'Z' || stat.state == 'X' ||
	       stat.flags & PROC_FLAGS_ENDING;
}

bool proc_read_status_of(int fd, struct proc_status *status)
{
	char text[8192];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_status_parse(text, (size_t)got, status);
}

bool proc_read_status(pid_t tid, struct proc_status *status)
{
	/* /proc/TID exists for every thread, even if its directory is not listed. */
	cleanup_close int fd = open_process_file(tid, "status");

	return fd >= 0 && proc_read_status_of(fd, status);
}

pid_t proc_own_pid(pid_t pid)
{
	struct proc_status status;

	return proc_read_status(pid, &status) ? status.ns_pid : pid;
}

bool proc_read_tracer(pid_t tid, pid_t *tracer)
{
	struct proc_status status, by = {.tgid = 0};

	if (!proc_read_status(tid, &status) ||
	    (status.tracer_pid && !proc_read_status(status.tracer_pid, &by)))
		return false;
	*tracer = by.tgid;
	return true;
}

bool proc_read_comm(pid_t tgid, pid_t tid, char *out, size_t cap)
{
	size_t got = read_short_task_file(tgid, tid, "comm", out, cap - 1);

	if (!got)
		return false;
	if (out[got - 1] == '\n')
		got--;
	out[got] = '\0';
	return true;
}

bool proc_has_children(pid_t tgid, pid_t tid)
{
	cleanup_close int fd = proc_open_task_file(tgid, tid, "children");
	char first;

	/* The kernel may have no such file: CONFIG_PROC_CHILDREN. */
	return fd < 0 || pread(fd, &first, 1, 0) != 0;
}

pid_t proc_next_id(DIR *directory)
{
	const struct dirent *entry;

	while ((entry = readdir(directory))) {
		long id = strtol(entry->d_name, NULL, 10);

		if (id > 0)
			return (pid_t)id;
	}
	return 0;
}

int proc_for_each_task(pid_t tgid, bool (*each)(void *context, pid_t tid), void *context)
{
	char path[PATH_CAP];
	DIR *dir;
	pid_t tid;
	int nr = 0;

	if (!proc_exists(tgid))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)tgid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((tid = proc_next_id(dir))) {
		nr++;
		if (!each(context, tid))
			break;
	}
	closedir(dir);
	return nr;
}
