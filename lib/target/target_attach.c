// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "proc/program.h"
#include "proc/read.h"
#include "target/refusal.h"
#include "target/seizer.h"
#include "target/target_priv.h"

/* Who the process is, beyond an id that may be given away any time. */
struct identity {
	int pidfd; /* -1: before Linux 5.3 */
	uint64_t start_ticks;
	uint64_t nr_threads;
};

struct attach {
	struct target *target;
	pid_t tgid;
	const struct target_attacher *by;
	bool is_first; /* of the target's processes */
	struct identity identity;
	struct seizer *seizer;
	uint64_t served_ns; /* when the others were served last */
	size_t nr_new, nr_known;
	bool puts_off_leader; /* it is seized after all the others */
	bool has_missed;      /* some of those listed, in a way that may have been an exec's */
	bool is_given_up;
	int first_errno; /* why the first thread that could not be seized could not */
};

/* We have too few descriptors, which says nothing about the process. */
static bool is_shortage(int reason)
{
	return reason == EMFILE || reason == ENFILE;
}

static void note_shortage(struct attach *attach)
{
	if (is_shortage(errno) && !attach->first_errno)
		attach->first_errno = errno;
}

static bool identify(pid_t tgid, struct identity *identity)
{
	struct proc_stat stat;

	identity->pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (identity->pidfd < 0 && errno == ESRCH)
		return false;
	if (!proc_read_task_stat(tgid, tgid, &stat)) {
		int reason = errno;

		close(identity->pidfd);
		errno = reason;
		return false;
	}
	identity->start_ticks = stat.start_ticks;
	identity->nr_threads = stat.nr_threads;
	return true;
}

/* Is it still the one that was identified? What we have seized of it keeps its id from reuse. */
static bool is_still(pid_t tgid, const struct identity *identity)
{
	struct proc_stat stat;

	if (identity->pidfd >= 0 &&
	    syscall(SYS_pidfd_send_signal, identity->pidfd, 0, NULL, 0) < 0 && errno == ESRCH)
		return false;
	return !proc_read_task_stat(tgid, tgid, &stat) || stat.start_ticks == identity->start_ticks;
}

/* Those that are seized already go on; says whether we are to. */
static bool serve(struct attach *attach)
{
	attach->is_given_up = attach->is_given_up || !attach->by->serve(attach->by->context);
	attach->served_ns = clock_monotonic_ns();
	return !attach->is_given_up;
}

#define UNSERVED_NS (2 * NS_PER_MS)

/* A crowd takes some 100 ms; meanwhile some of it stop for signals, children, exec. */
static bool serve_at_times(struct attach *attach)
{
	return clock_monotonic_ns() - attach->served_ns < UNSERVED_NS || serve(attach);
}

static bool is_untraced(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) && !status.tracer_pid;
}

enum outcome {
	SEIZED,
	NOT_SEIZED, /* for good: it is gone, or none of ours to seize */
	PUT_OFF,    /* it executes a program: others have to go on before */
};

/*
 * Without the exit stop of first threads: in it one would wait for us, and an exec for the thread.
 * It is added at the first other stop.
 */
static enum outcome seize(struct attach *attach, pid_t tid)
{
	uintptr_t options = target_ptrace_options(attach->target, false);
	int reason = seizer_seize(attach->seizer, tid, options);

	if (reason == EINTR)
		return PUT_OFF;
	if (reason && !attach->first_errno)
		attach->first_errno = reason;
	if (reason == ESRCH || (reason == EPERM && is_untraced(tid)))
		attach->has_missed = true;
	return reason ? NOT_SEIZED : SEIZED;
}

static void tell(struct attach *attach, struct tracee *tracee, const struct target_met *met)
{
	tracee->priv->wants_exit_stop = tracee->tid == attach->tgid;
	attach->nr_new++;
	attach->by->each(attach->by->context, tracee, met);
}

static void add(struct attach *attach, pid_t tid)
{
	struct tracee *tracee = target_add(attach->target, attach->tgid, tid);
	struct target_met met = {0};

	met.has_clocks = target_clocks(tracee, &met.clocks);
	tell(attach, tracee, &met);
}

/* A thread as it was before it was seized. */
struct candidate {
	pid_t tid;
	struct proc_stat stat;
	int schedstat_fd; /* -1: not to be had */
};

/*
 * Seized: was it who was listed? A descriptor goes with the thread that it was opened for, not
 * with its id: if it still tells the clocks, that thread is there, under that id. Most are added
 * so, with no other file read of them: that is most of what it takes to attach to a thousand.
 */
static bool add_same(struct attach *attach, const struct candidate *candidate)
{
	struct target_met met = {.name = candidate->stat.comm,
				 .split = proc_cpu_split_of_ticks(candidate->stat.user_ticks,
								  candidate->stat.system_ticks),
				 .nr_threads = candidate->stat.nr_threads,
				 .start_ticks = attach->identity.start_ticks};
	struct tracee *tracee;

	if (candidate->schedstat_fd < 0 ||
	    !proc_read_schedstat(candidate->schedstat_fd, &met.clocks))
		return false;
	tracee = target_add_opened(attach->target, attach->tgid, candidate->tid,
				   candidate->schedstat_fd);
	met.has_clocks = met.clocks.pcount || target_clocks(tracee, &met.clocks);
	if (met.has_clocks)
		met.is_asleep = target_note_met(tracee, &candidate->stat, &met.clocks);
	tell(attach, tracee, &met);
	return true;
}

/*
 * Another thread's exec has taken the first thread's id: the one that we had under it is gone
 * without a word, and the new one is ours under the same record.
 */
static void executed_meanwhile(struct attach *attach, struct tracee *leader)
{
	struct target_event event = {
		.kind = TARGET_EVENT_EXEC,
		.tracee = leader,
		.time_ns = clock_monotonic_ns(),
	};

	target_end_attaching(attach->target);
	target_rename(attach->target, leader, leader->tid); /* its clocks were the other's */
	target_forget_program(leader);
	leader->listening = false;
	leader->priv->hold = HOLD_NONE;
	leader->priv->has_exited = false;
	leader->priv->wants_exit_stop = true;
	event.has_final = target_clocks(leader, &event.final);
	target_add_pending(attach->target, &event);
	attach->nr_new++;
}

static bool note_exec(void *context, pid_t tid)
{
	bool *executes = context;
	cleanup_close int fd = proc_open_task_file(tid, tid, "syscall");
	struct proc_syscall syscall;

	*executes = fd >= 0 && proc_read_syscall(fd, &syscall) &&
		    syscall.kind == PROC_SYSCALL_INSIDE &&
		    (syscall.nr == SYS_execve || syscall.nr == SYS_execveat);
	return !*executes;
}

#define EXEC_PAUSE_NS (NS_PER_MS / 5)

static void pause_shortly(void)
{
	const struct timespec pause = {.tv_nsec = (long)EXEC_PAUSE_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/*
 * Who executes a program is seized when that is over; and where the program's file system is a
 * process (FUSE) that is seized already, that may wait for us in a stop. So it is waited for
 * before, while the others are served.
 */
static bool await_exec(struct attach *attach, pid_t tid)
{
	bool executes = false;

	if (attach->is_first || target_find(attach->target, tid))
		return true;
	note_exec(&executes, tid);
	while (executes && serve(attach)) {
		pause_shortly();
		note_exec(&executes, tid);
	}
	return !attach->is_given_up;
}

static bool await_exec_of_task(void *context, pid_t tid)
{
	return await_exec(context, tid);
}

/*
 * We hold a thread that had this id when it was listed. By now that may be another's: then the
 * thread has executed a program and is the first one, or it is of a process of others.
 */
static void settle(struct attach *attach, pid_t tid)
{
	struct tracee *leader;
	struct proc_stat stat;
	struct proc_status status;

	if (proc_read_task_stat(attach->tgid, tid, &stat)) {
		add(attach, tid);
		return;
	}
	if (proc_read_status(tid, &status) && status.tracer_pid == gettid()) {
		target_add(attach->target, status.tgid, tid)->priv->is_foreign = true;
		return;
	}
	leader = target_find(attach->target, attach->tgid);
	if (leader)
		executed_meanwhile(attach, leader);
	else
		add(attach, attach->tgid);
}

/* The id of one that is known is its process' new first thread's, once another has executed. */
static enum outcome seize_anew(struct attach *attach, struct tracee *known)
{
	enum outcome outcome = NOT_SEIZED;

	attach->nr_known++;
	if (known->tid == attach->tgid && is_untraced(known->tid))
		outcome = seize(attach, known->tid);
	if (outcome == SEIZED)
		executed_meanwhile(attach, known);
	return outcome;
}

static enum outcome seize_candidate(struct attach *attach, struct candidate *candidate)
{
	enum outcome outcome;

	candidate->schedstat_fd = proc_open_task_file(attach->tgid, candidate->tid, "schedstat");
	outcome = seize(attach, candidate->tid);
	if (outcome == SEIZED && add_same(attach, candidate))
		return outcome;
	if (outcome == SEIZED)
		settle(attach, candidate->tid);
	if (candidate->schedstat_fd >= 0)
		close(candidate->schedstat_fd);
	return outcome;
}

/* One thread of the list; those that are gone or that clone events already brought are passed. */
static enum outcome try_to_seize(struct attach *attach, pid_t tid)
{
	struct tracee *known = target_find(attach->target, tid);
	struct candidate candidate = {.tid = tid};
	const struct proc_stat *stat = &candidate.stat;

	if (known)
		return seize_anew(attach, known);
	/* Gone since the list was read: by now the id may be another's. */
	if (!proc_read_task_stat(attach->tgid, tid, &candidate.stat)) {
		note_shortage(attach);
		attach->has_missed = true;
		return NOT_SEIZED;
	}
	/* Workers of the kernel inside a process (io_uring) run no code of its own. */
	if (stat->flags & PROC_FLAG_USER_WORKER || stat->state == 'Z' || stat->state == 'X')
		return NOT_SEIZED;
	return seize_candidate(attach, &candidate);
}

/*
 * A signal to a process that nobody cares for is dropped unless its first thread is traced (ptrace
 * makes sig_ignored() in kernel/signal.c say no); then it wakes that one, or, if it is in a stop or
 * on its way to one, another. Of who is not seized yet no stop would tell. So it is left out in the
 * first pass, and in no other: if it starts threads without end, it has to be seized to meet them.
 */
static bool stops_putting_off(struct attach *attach)
{
	bool had_put_off = attach->puts_off_leader;

	attach->puts_off_leader = false;
	return had_put_off;
}

static bool seize_task(void *context, pid_t tid)
{
	struct attach *attach = context;
	bool has_seen_all = attach->nr_new >= attach->identity.nr_threads;

	if (attach->puts_off_leader && tid == attach->tgid)
		return true;
	/* More than there were: the list may grow as fast as it is read. */
	if (has_seen_all && stops_putting_off(attach) && !seize_task(attach, attach->tgid))
		return false;
	if (!serve_at_times(attach) || !await_exec(attach, tid))
		return false;
	while (try_to_seize(attach, tid) == PUT_OFF && serve(attach))
		continue;
	return !attach->is_given_up;
}

static int refuse(pid_t pid, int reason, struct err *err)
{
	struct refusal refusal;

	if (is_shortage(reason)) {
		errno = reason;
		return err_sys(err, "cannot look at process %d", (int)pid);
	}
	refusal_gather(pid, reason, &refusal);
	return refusal_explain(&refusal, err);
}

/*
 * Descriptors for all threads to come, in one go: each time their table grows a thread waits for
 * some 15 ms if it is not its process' only one, and those that it has seized wait for it.
 */
static void make_room_for_files(const struct target *target, uint64_t nr_threads)
{
	uint64_t nr = target->nr_open + nr_threads;
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (nr > target->max_open)
		nr = target->max_open;
	if (fd < 0)
		return;
	close(fcntl(fd, F_DUPFD_CLOEXEC, (int)nr));
	close(fd);
}

/* False: none of its files may be opened, so that passes are of no use. */
static bool pass(struct attach *attach)
{
	attach->nr_new = 0;
	attach->has_missed = false;
	if (!attach->is_first) /* to seize any thread waits for all of them */
		proc_for_each_task(attach->tgid, await_exec_of_task, attach);
	if (proc_for_each_task(attach->tgid, seize_task, attach) >= 0)
		return true;
	note_shortage(attach);
	return false;
}

/*
 * An exec of another thread than the first ends all others, the first one too, and takes that one's
 * id: who is seized meanwhile ends, who executes cannot be seized before, and who waited to seize
 * the first one finds it dead (EPERM). All of that is over with the exec, and what it leaves is a
 * first thread that nobody traces; or a dead one, if the next exec is going on already.
 */
static bool is_amid_exec(const struct attach *attach)
{
	struct proc_status status;
	struct proc_stat stat;

	if (is_shortage(attach->first_errno) || !proc_read_status(attach->tgid, &status) ||
	    status.tracer_pid || !proc_read_task_stat(attach->tgid, attach->tgid, &stat))
		return false;
	return stat.state == 'Z' ? attach->has_missed : !(stat.flags & PROC_FLAG_KTHREAD);
}

/* One who must not be traced looks the same, but for ever; an exec is met once or twice. */
#define MAX_EXECS_MET 50

/* Until a pass finds nobody new: threads may start threads before they are seized. */
static size_t seize_all(struct attach *attach)
{
	size_t nr_seized = 0;
	int nr_execs_met = 0;

	make_room_for_files(attach->target, attach->identity.nr_threads);
	attach->served_ns = clock_monotonic_ns();
	attach->seizer = seizer_start();
	target_begin_attaching(attach->target, attach->tgid);
	while (pass(attach) && !attach->is_given_up) {
		nr_seized += attach->nr_new;
		if (stops_putting_off(attach) || attach->nr_new)
			continue;
		if (!is_amid_exec(attach) || nr_execs_met++ == MAX_EXECS_MET || !serve(attach))
			break;
		attach->first_errno = 0;
		pause_shortly();
	}
	target_end_attaching(attach->target);
	seizer_end(attach->seizer);
	return nr_seized;
}

int target_check_program(pid_t pid, struct err *err)
{
	int result = refusal_of_proc(err);
	const char *bits = result < 0 ? NULL : proc_program_process_32_bit(pid);

	if (!bits)
		return result;
	return err_set(err, ERR_UNSUPPORTED,
		       "process %d runs a 32-bit program (%s): profc supports 64-bit ones only",
		       (int)pid, bits);
}

int target_attach(struct target *target, pid_t pid, const struct target_attacher *by,
		  struct err *err)
{
	struct attach attach = {.target = target, .by = by, .is_first = !target_nr_tracees(target)};
	struct proc_status status;
	int result = refusal_of_proc(err);

	if (result < 0)
		return result;
	if (pid == getpid())
		return err_set(err, ERR_INVALID, "process %d is profc itself", (int)pid);
	if (!proc_read_status(pid, &status) || !identify(status.tgid, &attach.identity))
		return refuse(pid, is_shortage(errno) ? errno : ESRCH, err);
	attach.tgid = status.tgid;
	attach.puts_off_leader = attach.identity.nr_threads > 1;
	if (!seize_all(&attach) && !attach.nr_known && !attach.is_given_up) /* nor named twice */
		result = refuse(pid, attach.first_errno ? attach.first_errno : ESRCH, err);
	else if (!is_still(attach.tgid, &attach.identity))
		result = err_set(err, ERR_GONE, "process %d has ended, and its id is another's now",
				 (int)pid);
	if (attach.identity.pidfd >= 0)
		close(attach.identity.pidfd);
	return result;
}
