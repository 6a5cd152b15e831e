// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of /proc from which a thread is read. */
#include "tracee/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "proc/kernel_counters.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee_priv.h"

static const char *const file_names[NR_TRACEE_FILES] = {
	[TRACEE_SCHEDSTAT] = "schedstat", [TRACEE_STAT] = "stat",   [TRACEE_STATUS] = "status",
	[TRACEE_SYSCALL] = "syscall",	  [TRACEE_WCHAN] = "wchan", [TRACEE_IO] = "io",
	[TRACEE_STACK] = "stack",	  [TRACEE_MEMORY] = "mem",  [TRACEE_MAPS] = "maps",
};

/* Few of a thousand threads run. Reading an open file takes a third of the time. */
#define MOST_KEPT 1024

/* Descriptors that are left for the rest of profc: its own files, and symbols at the end. */
#define LEFT_FREE 64

struct tracee_host *tracee_host_new(void)
{
	struct tracee_host *host = xcalloc(1, sizeof(*host));
	struct rlimit limit = {.rlim_cur = 256};

	getrlimit(RLIMIT_NOFILE, &limit);
	host->max_kept =
		limit.rlim_cur > 2 * LEFT_FREE ? (size_t)limit.rlim_cur - LEFT_FREE : LEFT_FREE;
	host->shows_stacks = tracee_may_see_kernel_stacks();
	backings_init(&host->backings);
	return host;
}

void tracee_host_free(struct tracee_host *host)
{
	if (!host)
		return;
	backings_release(&host->backings);
	free(host);
}

/* Several threads may want the last one. */
static bool take_room(struct tracee_host *host, size_t max)
{
	size_t nr = host->nr_kept;

	while (nr < max)
		if (atomic_compare_exchange_weak(&host->nr_kept, &nr, nr + 1))
			return true;
	return false;
}

int tracee_kept_file(struct tracee *tracee, enum tracee_file file)
{
	struct tracee_host *host = tracee->host;
	size_t max = host->max_kept - host->nr_events;

	/* The clocks of all come first. */
	if (file != TRACEE_SCHEDSTAT)
		max = min_u64(MOST_KEPT, max / 2);

	if (tracee->fds[file] >= 0 || !take_room(host, max))
		return tracee->fds[file];
	tracee->fds[file] = proc_open_task_file(tracee->tgid, tracee->tid, file_names[file]);
	if (tracee->fds[file] < 0)
		host->nr_kept--;
	return tracee->fds[file];
}

static void close_file(struct tracee *tracee, int file)
{
	if (tracee->fds[file] < 0)
		return;
	close(tracee->fds[file]);
	tracee->fds[file] = -1;
	tracee->host->nr_kept--;
}

void tracee_open(struct tracee *tracee, struct tracee_host *host, pid_t tgid, pid_t tid)
{
	*tracee = (struct tracee){.tgid = tgid, .tid = tid, .host = host};
	for (int file = 0; file < NR_TRACEE_FILES; file++)
		tracee->fds[file] = -1;
	tracee_kept_file(tracee, TRACEE_SCHEDSTAT);
}

int tracee_count_events(struct tracee *tracee, const struct event_opener *opener,
			unsigned int wanted, struct err *err)
{
	struct tracee_host *host = tracee->host;
	size_t nr = (size_t)__builtin_popcount(kernel_counters_of_events(wanted));
	struct proc_schedstat clocks;
	int status;

	if (host->nr_events + nr > host->max_kept / 2 ||
	    host->nr_kept + host->nr_events + nr > host->max_kept)
		return err_set(err, ERR_LIMIT, "too few descriptors for the events of all threads");
	status = kernel_events_open(&tracee->events, opener, tracee->tid, wanted, EVENT_FROM_NOW,
				    err);
	if (status < 0)
		return status;
	/* Its id may be that of another user's thread by now, unless it is still there. */
	if (!tracee_clocks(tracee, &clocks)) {
		kernel_events_free(tracee->events);
		tracee->events = NULL;
		return err_set(err, ERR_GONE, "the thread has ended");
	}
	host->nr_events += nr;
	return 0;
}

void tracee_take_events(struct tracee *tracee, struct kernel_events *events)
{
	tracee->events = events;
	tracee->host->nr_events += kernel_events_nr(events);
}

struct kernel_events *tracee_give_events(struct tracee *tracee)
{
	struct kernel_events *events = tracee->events;

	tracee->events = NULL;
	if (events)
		tracee->host->nr_events -= kernel_events_nr(events);
	return events;
}

void tracee_close(struct tracee *tracee)
{
	kernel_events_free(tracee_give_events(tracee));
	tracee_close_files(tracee);
	close_file(tracee, TRACEE_SCHEDSTAT);
	free(tracee->wanted);
	tracee->wanted = NULL;
	if (tracee->ahead)
		snapshot_release(tracee->ahead);
	free(tracee->ahead);
	tracee->ahead = NULL;
}

void tracee_close_files(struct tracee *tracee)
{
	for (int file = TRACEE_SCHEDSTAT + 1; file < NR_TRACEE_FILES; file++)
		close_file(tracee, file);
}

void tracee_rest_files(struct tracee *tracee)
{
	bool has_room = 2 * tracee->host->nr_kept <= MOST_KEPT;

	for (int file = TRACEE_SCHEDSTAT + 1; file < NR_TRACEE_FILES; file++) {
		if (file != TRACEE_SYSCALL || !has_room)
			close_file(tracee, file);
	}
}

/* For kernels that count nothing (built without CONFIG_SCHED_INFO). */
static bool clocks_from_others(struct tracee *tracee, struct proc_schedstat *clocks)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!tracee_stat(tracee, &stat) || !tracee_status(tracee, &status))
		return false;
	*clocks = proc_schedstat_from(&stat, &status, NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

/* A descriptor for one reading. If none is kept, it is in *own, to be closed afterwards. */
static int opened(struct tracee *tracee, enum tracee_file file, int *own)
{
	int fd = tracee_kept_file(tracee, file);

	if (fd < 0)
		fd = *own = proc_open_task_file(tracee->tgid, tracee->tid, file_names[file]);
	return fd;
}

bool tracee_clocks(struct tracee *tracee, struct proc_schedstat *clocks)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_SCHEDSTAT, &own);

	if (fd < 0 || !proc_read_schedstat(fd, clocks))
		return false;
	return clocks->pcount || clocks_from_others(tracee, clocks);
}

bool tracee_stat(struct tracee *tracee, struct proc_stat *stat)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_STAT, &own);

	return fd >= 0 && proc_read_stat(fd, stat);
}

bool tracee_status(struct tracee *tracee, struct proc_status *status)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_STATUS, &own);

	return fd >= 0 && proc_read_status_of(fd, status);
}

bool tracee_syscall(struct tracee *tracee, struct proc_syscall *syscall)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_SYSCALL, &own);

	return fd >= 0 && proc_read_syscall(fd, syscall);
}

unsigned int tracee_counters(struct tracee *tracee, unsigned int wanted,
			     struct kernel_counters *out)
{
	static const enum tracee_file files[NR_KERNEL_COUNTER_FILES] = {
		[KERNEL_COUNTERS_IN_STAT] = TRACEE_STAT,
		[KERNEL_COUNTERS_IN_SCHEDSTAT] = TRACEE_SCHEDSTAT,
		[KERNEL_COUNTERS_IN_IO] = TRACEE_IO,
	};
	unsigned int found = tracee->events ? kernel_events_read(tracee->events, out) : 0;

	for (int i = 0; i < NR_KERNEL_COUNTER_FILES; i++) {
		enum kernel_counter_file file = (enum kernel_counter_file)i;
		unsigned int in_file = kernel_counters_in_file(file, wanted);
		cleanup_close int own = -1;

		if (in_file &&
		    kernel_counters_read_file(opened(tracee, files[file], &own), file, wanted, out))
			found |= in_file;
	}
	return found;
}

void tracee_read_wchan(struct tracee *tracee, char *out, size_t cap)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_WCHAN, &own);
	ssize_t got = fd < 0 ? -1 : pread(fd, out, cap - 1, 0);

	out[got > 0 ? got : 0] = '\0';
}

size_t tracee_read_kernel_stack(struct tracee *tracee, char *out, size_t cap)
{
	cleanup_close int own = -1;
	int fd = tracee->host->shows_stacks ? opened(tracee, TRACEE_STACK, &own) : -1;
	ssize_t got = fd < 0 ? -1 : pread(fd, out, cap, 0);

	return got > 0 ? (size_t)got : 0;
}

/* close() of a file in /proc does not change errno, either. */
bool tracee_range_at(struct tracee *tracee, uint64_t address, struct proc_range *range)
{
	cleanup_close int own = -1;
	int fd = opened(tracee, TRACEE_MAPS, &own);

	return fd >= 0 && proc_range_at(fd, address, range);
}

void tracee_begin_snapshot(const struct tracee *tracee, struct snapshot *snapshot)
{
	snapshot_clear(snapshot);
	snapshot->arch = arch_native();
	snapshot->tgid = tracee->tgid;
	snapshot->tid = tracee->tid;
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	snapshot->time_ns = clock_monotonic_ns();
	snapshot->first_sp = tracee->stacks.first_sp;
	snapshot->thread_pointer = tracee->stacks.thread_pointer;
	snapshot->data_pointer = tracee->stacks.data_pointer;
}

bool tracee_may_see_kernel_stacks(void)
{
	cleanup_close int fd = open("/proc/self/stack", O_RDONLY | O_CLOEXEC);
	char byte;

	return fd >= 0 && read(fd, &byte, 1) >= 0;
}
