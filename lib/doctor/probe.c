// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether peeks and visits work here, for `profc doctor`. */
#include "doctor/probe_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "tracee/launch.h"
#include "tracee/permission.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"

#define MAX_STACK_BYTES (256 * 1024)
#define TRIES		2000
#define TRY_PAUSE_NS	(NS_PER_MS / 2)

static void pause_shortly(void)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static bool peek(struct tracee *tracee, struct snapshot *snapshot)
{
	enum peek_outcome outcome = PEEK_CHANGED;
	struct proc_schedstat clocks;
	struct proc_syscall syscall;
	struct proc_stat stat;

	for (int i = 0; i < TRIES && outcome != PEEK_TAKEN && outcome != PEEK_GONE; i++) {
		if (i)
			pause_shortly();
		outcome = tracee_clocks(tracee, &clocks) ? tracee_look(tracee, snapshot, &stat)
							 : PEEK_GONE;
		if (outcome == PEEK_ASLEEP)
			outcome = tracee_peek(tracee, MAX_STACK_BYTES, &clocks, &stat, snapshot,
					      &syscall);
	}
	return outcome == PEEK_TAKEN;
}

static int visit_once(struct tracee *tracee, struct snapshot *snapshot, struct doctor_probe *probe,
		      struct err *err)
{
	struct visit visit;
	enum visit_outcome outcome = visit_begin(&visit, tracee->tgid, tracee->tid);

	for (int i = 0; outcome == VISIT_PENDING && i < TRIES; i++) {
		outcome = visit_wait(&visit, false);
		if (outcome == VISIT_PENDING)
			pause_shortly();
	}
	if (outcome == VISIT_GONE)
		return err_set(err, ERR_GONE, "the child has ended: it was killed");
	if (outcome != VISIT_STOPPED)
		return err_set(err, ERR_UNSUPPORTED, "a child could not be stopped by ptrace(2)");
	visit_capture(&visit, tracee, MAX_STACK_BYTES, snapshot);
	visit_end(&visit);
	probe->stop_ns = clock_monotonic_ns() - visit.interrupted_ns;
	probe->stack_bytes = snapshot->nr_bytes;
	return 0;
}

/* One that we have, too. */
static bool takes_descriptor(pid_t pid, int fd)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_close int taken = pidfd < 0 ? -1 : (int)syscall(__NR_pidfd_getfd, pidfd, fd, 0);

	return taken >= 0;
}

static int probe_pid(pid_t pid, struct doctor_probe *probe, struct err *err)
{
	struct tracee_host *host;
	struct snapshot snapshot = {0};
	struct proc_schedstat clocks;
	struct tracee tracee;
	int status = permission_to_trace_child(pid, "a child of profc", err);

	if (status < 0)
		return status;
	host = tracee_host_new();
	tracee_open(&tracee, host, pid, pid);
	probe->reads_sleepers = peek(&tracee, &snapshot);
	probe->reads_kernel_stack = tracee_may_see_kernel_stacks();
	probe->has_pcount =
		proc_read_schedstat(tracee.fds[TRACEE_SCHEDSTAT], &clocks) && clocks.pcount;
	status = visit_once(&tracee, &snapshot, probe, err);
	snapshot_release(&snapshot);
	tracee_close(&tracee);
	tracee_host_free(host);
	return status;
}

/* It ends once we close our end: a security module may let us send it no signal. */
static pid_t fork_child(int ends[2])
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		close(ends[1]);
		_exit((int)read(ends[0], &byte, 1));
	}
	return pid;
}

int doctor_probe_child(struct doctor_probe *probe, struct err *err)
{
	cleanup_close int file = memfd_create("profc", MFD_CLOEXEC);
	int ends[2];
	int status, ended;
	pid_t pid;

	*probe = (struct doctor_probe){0};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_start(err, "cannot make a pipe");
	pid = fork_child(ends);
	close(ends[0]);
	if (pid < 0) {
		status = err_start(err, "cannot fork");
		close(ends[1]);
		return status;
	}
	status = probe_pid(pid, probe, err);
	probe->takes_descriptors = takes_descriptor(pid, file);
	close(ends[1]);
	child_reap(pid, &ended);
	return status;
}
