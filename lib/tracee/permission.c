// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a process may be traced, found out by tracing it. */
#include "tracee/permission.h"

#include <errno.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "proc/program.h"
#include "proc/read.h"
#include "tracee/refusal.h"

/*
 * Another profc holds a thread for microseconds, a debugger for good; and amid an exec of another
 * thread its leader cannot be seized.
 */
#define TRIES	     20
#define TRY_PAUSE_NS NS_PER_MS

struct trial {
	pid_t tgid;
	int reason; /* errno, or 0 */
};

static bool seize(void *context, pid_t tid)
{
	struct trial *trial = context;
	struct proc_stat stat;

	if (proc_read_task_stat(trial->tgid, tid, &stat) &&
	    (stat.state == 'Z' || stat.flags & PROC_FLAG_USER_WORKER))
		return true; /* a leader that has ended: the next thread tells */
	trial->reason = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 ? 0 : errno;
	return trial->reason == ESRCH;
}

/* Its end detaches what it has seized. */
static void *trial_main(void *argument)
{
	struct trial *trial = argument;

	trial->reason = ESRCH;
	if (proc_for_each_task(trial->tgid, seize, trial) < 0)
		trial->reason = errno;
	return NULL;
}

static int try_to_seize(pid_t tgid, int *reason, struct err *err)
{
	struct trial trial = {.tgid = tgid};
	pthread_t thread;

	errno = pthread_create(&thread, NULL, trial_main, &trial);
	if (errno)
		return err_start(err, "cannot start a thread");
	pthread_join(thread, NULL);
	*reason = trial.reason;
	return 0;
}

static int refuse(pid_t pid, int reason, struct err *err)
{
	struct refusal refusal;

	refusal_gather(pid, reason, &refusal);
	return refusal_explain(&refusal, err);
}

int permission_to_trace(pid_t pid, pid_t *tgid, struct err *err)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};
	struct proc_status status;
	const char *bits;
	int result = refusal_of_proc(err);
	int reason = EPERM;

	if (result < 0)
		return result;
	if (!proc_read_status(pid, &status))
		return refuse(pid, errno == EMFILE || errno == ENFILE ? errno : ESRCH, err);
	if (status.tgid == getpid())
		return err_set(err, ERR_INVALID, "process %d is profc itself", (int)pid);
	bits = proc_program_process_32_bit(status.tgid);
	if (bits)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d runs a 32-bit program (%s): profc supports 64-bit ones "
			       "only",
			       (int)pid, bits);
	for (int i = 0; i < TRIES && reason == EPERM; i++) {
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (try_to_seize(status.tgid, &reason, err) < 0)
			return ERR_SYS;
	}
	if (reason)
		return refuse(pid, reason, err);
	*tgid = status.tgid;
	return 0;
}
