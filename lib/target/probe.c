// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/probe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "target/target_priv.h"

struct probing {
	pid_t pid;
	struct target_probe *probe; /* NULL: attaching is all */
	struct target *target;
	size_t nr_threads;
	int status;
	struct err err;
};

#define MAX_STACK_BYTES (256 * 1024)
#define STOP_TRIES	2000
#define TRY_PAUSE_NS	(NS_PER_MS / 2)

static void pause_shortly(void)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* They are counted when all have been met: some may end until then. */
static void meet(void *context, struct tracee *tracee, const struct target_met *met)
{
	(void)context;
	(void)tracee;
	(void)met;
}

/* Lets those go on that stop, and forgets who has ended. */
static bool serve(void *context)
{
	struct probing *probing = context;
	struct target_event event;

	for (target_next(probing->target, &event); event.kind != TARGET_EVENT_NONE;
	     target_next(probing->target, &event)) {
		if (event.kind == TARGET_EVENT_GONE)
			target_forget(probing->target, event.tracee);
		else
			target_resume(probing->target, event.tracee);
	}
	return true;
}

static bool look_asleep(struct tracee *tracee, struct snapshot *snapshot)
{
	struct proc_schedstat clocks;

	for (int i = 0; i < STOP_TRIES && target_clocks(tracee, &clocks); i++) {
		if (target_look(tracee, &clocks, MAX_STACK_BYTES, snapshot) == TARGET_LOOK_TAKEN)
			return true;
		pause_shortly();
	}
	return false;
}

static int child_has_ended(struct probing *probing)
{
	return err_set(&probing->err, ERR_GONE, "the child has ended: somebody killed it");
}

/* Stop it once and copy it. */
static int stop_once(struct target *target, struct probing *probing, struct tracee *child,
		     struct snapshot *snapshot)
{
	struct target_event event;

	if (!target_interrupt(target, child))
		return err_set(&probing->err, ERR_GONE, "the child could not be interrupted");
	for (int i = 0; i < STOP_TRIES; i++) {
		target_next(target, &event);
		if (event.kind == TARGET_EVENT_INTERRUPTED) {
			target_capture(event.tracee, MAX_STACK_BYTES, snapshot);
			probing->probe->stop_ns =
				clock_monotonic_ns() - event.tracee->interrupted_ns;
			target_resume(target, event.tracee);
			probing->probe->stack_bytes = snapshot->nr_bytes;
			return 0;
		}
		if (event.kind == TARGET_EVENT_GONE)
			return child_has_ended(probing);
		if (event.kind != TARGET_EVENT_NONE)
			target_resume(target, event.tracee);
		pause_shortly();
	}
	return err_set(&probing->err, ERR_UNSUPPORTED, "a stopped child was never reported");
}

static bool reads_kernel_stack(pid_t pid)
{
	struct buf text = {0};
	bool reads = proc_read_process_file(pid, "stack", &text) && text.nr_bytes;

	buf_release(&text);
	return reads;
}

static int probe_seized(struct target *target, struct probing *probing)
{
	struct tracee *child = target_find(target, probing->pid);
	struct snapshot snapshot = {0};
	struct proc_schedstat clocks;
	int status;

	if (!child)
		return child_has_ended(probing);
	probing->probe->reads_sleepers = look_asleep(child, &snapshot);
	probing->probe->reads_kernel_stack = reads_kernel_stack(probing->pid);
	probing->probe->has_pcount =
		proc_read_schedstat(child->schedstat_fd, &clocks) && clocks.pcount;
	status = stop_once(target, probing, child, &snapshot);
	snapshot_release(&snapshot);
	return status;
}

static int count_seized(const struct target *target, struct probing *probing)
{
	probing->nr_threads = target_nr_tracees(target);
	if (probing->nr_threads)
		return 0;
	return err_set(&probing->err, ERR_GONE, "process %d has ended meanwhile",
		       (int)probing->pid);
}

static void *probe_main(void *argument)
{
	struct probing *probing = argument;
	const struct target_options options = {.follow_children = false};
	const struct target_attacher attacher = {.each = meet, .serve = serve, .context = probing};
	struct target *target = target_new(&options);

	probing->target = target;
	probing->status = target_check_program(probing->pid, &probing->err);
	if (probing->status == 0)
		probing->status = target_attach(target, probing->pid, &attacher, &probing->err);
	if (probing->status == 0 && probing->probe)
		probing->status = probe_seized(target, probing);
	else if (probing->status == 0)
		probing->status = count_seized(target, probing);
	target_free(target);
	return NULL; /* which lets everybody go */
}

static int run(struct probing *probing, struct err *err)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, probe_main, probing);
	if (errno)
		return err_start(err, "cannot start a thread");
	pthread_join(thread, NULL);
	if (probing->status < 0 && err)
		*err = probing->err;
	return probing->status;
}

int target_probe_child(struct target_probe *probe, struct err *err)
{
	struct probing probing = {.probe = probe};
	int status;

	*probe = (struct target_probe){0};
	probing.pid = fork();
	if (probing.pid < 0)
		return err_start(err, "cannot fork");
	if (probing.pid == 0) {
		for (;;)
			pause();
	}
	status = run(&probing, err);
	kill(probing.pid, SIGKILL);
	waitpid(probing.pid, NULL, 0);
	return status;
}

int target_probe_attach(pid_t pid, size_t *nr_threads, struct err *err)
{
	struct probing probing = {.pid = pid};
	int status = run(&probing, err);

	if (status == 0)
		*nr_threads = probing.nr_threads;
	return status;
}
