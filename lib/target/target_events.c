// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"
#include "target/wait_status.h"

/*
 * Statuses are only ever peeked at (WNOWAIT), the letting-go consumes them: if profc is
 * killed between the look and PTRACE_CONT, the kernel still delivers the signal that a
 * waited-for stop would have lost.
 */
#define PEEK_FLAGS (WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD)
#define REAP_FLAGS (WEXITED | WSTOPPED | WNOHANG | __WALL | __WNOTHREAD)

#define SYSCALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */

bool target_is_job_control_stop(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/*
 * A stop that carries no signal, and may be waited for like any other. The kernel insists
 * on it where the caller of exec took over its leader's id: until then ptrace(2) does not
 * know it (looks_like_a_spurious_pid() in kernel/ptrace.c).
 */
static void consume_stop(pid_t tid)
{
	siginfo_t info;

	waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
}

static bool is_followed(struct tracee *tracee)
{
	bool is_asker = target_follows_asker(tracee);

	return is_asker || tracee->priv->carried || tracee->priv->follow == FOLLOW_ENTRY ||
	       tracee->priv->follow == FOLLOW_EXIT;
}

static void let_go_by(const struct tracee *tracee, int request, int signal)
{
	if (ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal) == 0)
		return;
	/*
	 * Killed meanwhile, and its end will be reported. Never peek at the same stop twice; but
	 * should it have come to its exit stop by now, that is not to be left waiting.
	 */
	consume_stop(tracee->tid);
	ptrace(PTRACE_CONT, tracee->tid, NULL, NULL);
}

static void let_go(struct target *target, struct tracee *tracee, int signal)
{
	tracee->priv->hold = HOLD_NONE;
	tracee->priv->asked_in_sleep = false;
	tracee->priv->was_found_awake = false;
	if (tracee->priv->follow == FOLLOW_BROKEN)
		tracee->priv->follow = FOLLOW_NONE; /* its repair was due at this stop, or never */
	target_before_letting_go(target, tracee);
	let_go_by(tracee, is_followed(tracee) ? PTRACE_SYSCALL : PTRACE_CONT, signal);
}

/* From its stop for a signal, for good (target_end.c). */
static void let_leave(struct target *target, struct tracee *tracee, int signal)
{
	tracee->priv->hold = HOLD_NONE;
	target_before_letting_go(target, tracee);
	let_go_by(tracee, PTRACE_DETACH, signal);
	target_note_left(target, tracee);
}

bool target_ask_to_stop(const struct tracee *tracee)
{
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0)
		return false;
	tracee->priv->is_to_stop = true;
	return true;
}

/*
 * Looked at before: once it is asked, it may be on a CPU at once. And after that: it may have come
 * to one in between, and be in its next call.
 */
bool target_ask_to_stop_as_seen(struct tracee *tracee)
{
	bool slept = target_sleeps_as_seen(tracee);

	if (!target_ask_to_stop(tracee))
		return false;
	if (slept && !tracee->priv->asked_in_sleep) {
		tracee->priv->asked_in_sleep = true;
		tracee->priv->asked_awake_ns =
			target_sleeps_as_seen(tracee) ? 0 : clock_monotonic_ns();
	}
	return true;
}

/* Whatever trap is taken first clears a pending interrupt: ask again. */
static void interrupt_again(struct tracee *tracee)
{
	if (tracee->interrupting)
		target_ask_to_stop(tracee);
}

bool target_interrupt(struct target *target, struct tracee *tracee)
{
	if (tracee->interrupting || tracee->listening)
		return true;
	if (tracee->priv->has_exited)
		return false; /* the kernel would say yes, and a first thread may stay for hours */
	if (target_awaits_signal(tracee) || target_stop_would_spoil(tracee)) {
		target->stats.nr_spared++;
		return false;
	}
	if (!target_ask_to_stop_as_seen(tracee))
		return false;
	tracee->interrupting = true;
	tracee->priv->ticks.nr_interrupts++;
	tracee->interrupted_ns = clock_monotonic_ns();
	target->stats.nr_interrupts++;
	return true;
}

void target_resume(struct target *target, struct tracee *tracee)
{
	switch (tracee->priv->hold) {
	case HOLD_NONE:
		break;
	case HOLD_REPAIR:
		target_repair_interrupted(target, tracee);
		let_go(target, tracee, 0);
		break;
	case HOLD_CONT:
		let_go(target, tracee, 0);
		interrupt_again(tracee);
		break;
	case HOLD_LISTEN:
		target_repair_for_job_control(target, tracee);
		tracee->priv->hold = HOLD_NONE;
		tracee->priv->asked_in_sleep = false;
		tracee->priv->follow = FOLLOW_NONE;
		tracee->listening = true;
		ptrace(PTRACE_LISTEN, tracee->tid, NULL, NULL);
		break;
	case HOLD_PART:
	case HOLD_UNSURE:
		if (!target_part(target, tracee))
			let_go(target, tracee, 0);
		break;
	}
}

static unsigned long event_message(pid_t tid)
{
	unsigned long message = 0;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
	return message;
}

/* A new thread has the options of the one that made it: that of a process, or another. */
static void set_options(struct target *target, const struct tracee *tracee)
{
	bool is_first = tracee->tid == tracee->tgid;

	ptrace(PTRACE_SETOPTIONS, tracee->tid, NULL, target_ptrace_options(target, is_first));
}

/* If it is one of its parent's process: most are, and that costs no more than its clocks. */
static struct tracee *add_sibling(struct target *target, pid_t tid, const struct birth *birth)
{
	int schedstat_fd = -1;

	if (birth->parent_tid)
		schedstat_fd = proc_open_task_file(birth->parent_tgid, tid, "schedstat");
	return schedstat_fd < 0 ? NULL
				: target_add_opened(target, birth->parent_tgid, tid, schedstat_fd);
}

/* A clone(2) may share the thread group and yet be told of as a fork: that is known by now. */
static struct tracee *add_forked(struct target *target, pid_t tid, const struct birth *birth,
				 struct target_event *event)
{
	if (!birth->parent_tid || !birth->is_forked)
		return NULL;
	event->parent_pid = birth->parent_tgid;
	return target_add(target, tid, tid);
}

static struct tracee *add_unknown(struct target *target, pid_t tid, struct target_event *event)
{
	struct proc_status status;
	struct tracee *tracee;

	if (!proc_read_status(tid, &status) || !status.tracer_pid)
		return NULL;
	event->parent_pid = status.ppid;
	tracee = target_add(target, status.tgid, tid);
	target_note_namespaces(tracee, &status);
	return tracee;
}

/*
 * A thread that is not known yet: born of a traced one, which may report the birth
 * only later. Returns NULL if it is gone already or none of ours.
 */
static struct tracee *meet(struct target *target, pid_t tid, struct target_event *event)
{
	struct birth birth = target_take_birth(target, tid);
	struct tracee *tracee = add_sibling(target, tid, &birth);

	if (!tracee)
		tracee = add_forked(target, tid, &birth, event);
	if (!tracee)
		tracee = add_unknown(target, tid, event);
	if (!tracee)
		return NULL;
	tracee->priv->is_new = true;
	tracee->priv->met_ns = event->time_ns;
	tracee->priv->parent_tid = birth.parent_tid;
	tracee->priv->is_untold = !birth.parent_tid;
	if (tracee->priv->is_untold)
		target_met_untold(target, tracee);
	return tracee;
}

/* The first stop of a new thread. */
static void born(struct target *target, struct tracee *tracee, struct target_event *event)
{
	tracee->priv->is_new = false;
	tracee->priv->sleep.last_ns = event->time_ns;
	tracee->priv->hold = HOLD_CONT;
	set_options(target, tracee);
	event->kind = tracee->tid == tracee->tgid ? TARGET_EVENT_PROCESS : TARGET_EVENT_THREAD;
}

/* An EVENT_STOP: of our interrupt, of job control beginning or ending, or of a birth. */
static void event_stop(struct target *target, struct tracee *tracee, int signal,
		       struct target_event *event)
{
	bool wanted = tracee->interrupting;

	tracee->listening = false;
	if (tracee->priv->is_new) {
		born(target, tracee, event);
		return;
	}
	tracee->interrupting = false;
	if (target_is_job_control_stop(signal)) {
		tracee->priv->hold = HOLD_LISTEN;
		event->kind = TARGET_EVENT_STOPPED;
		return;
	}
	tracee->priv->hold = HOLD_REPAIR;
	if (wanted)
		event->kind = TARGET_EVENT_INTERRUPTED;
	else
		target_resume(target, tracee);
}

static void signal_stop(struct target *target, struct tracee *tracee, int signal)
{
	bool is_nobodys;

	tracee->listening = false;
	target->stats.nr_signals++;
	target_note_signal(target, tracee, signal);
	target_repair_for_signal(target, tracee, signal);
	target_signal_endangers(target, tracee, signal);
	is_nobodys = target_signal_to_nobody(target, tracee, signal);
	if (!target_is_job_control_stop(signal) && target_may_leave(target, tracee, signal)) {
		let_leave(target, tracee, signal);
		return;
	}
	let_go(target, tracee,
	       signal == SIGSTOP && target_is_unstoppable(tracee, signal) ? 0 : signal);
	interrupt_again(tracee);
	if (is_nobodys)
		target_stop_woken_in_vain(target, tracee, signal);
}

static enum follow met_at_call(struct tracee *tracee)
{
	enum follow follow = FOLLOW_NONE;

	if (tracee->priv->carried)
		return target_carried_stop(tracee);
	if (tracee->priv->follow == FOLLOW_NONE) {
		target_asker_stop(tracee);
		return FOLLOW_NONE;
	}
	follow = target_followed_stop(tracee);
	if (follow == FOLLOW_NONE) {
		tracee->priv->is_in_call = false; /* that was another call, or it has returned */
		tracee->priv->knows_waiting = false;
		tracee->priv->entered_ns = 0;
	}
	return follow;
}

/* Only where a call is followed. Killed after it is consumed, we leave no signal behind. */
static void syscall_stop(struct target *target, struct tracee *tracee)
{
	enum follow follow = met_at_call(tracee);

	consume_stop(tracee->tid);
	tracee->priv->follow = follow == FOLLOW_BROKEN ? FOLLOW_NONE : follow;
	let_go(target, tracee, 0);
	tracee->priv->follow = follow;
	interrupt_again(tracee);
}

void target_forget_program(struct tracee *tracee)
{
	tracee->interrupting = false;
	tracee->priv->has_executed = true;
	tracee->priv->watched_ns = 0;
	tracee->priv->nr_vain_waits = 0;
	tracee->priv->broken_off = false;
	tracee->priv->follow = FOLLOW_NONE;
	target_forget_carried(tracee);
	tracee->priv->is_asker = false;
	target_forget_endangered(tracee);
	tracee->priv->is_in_call = false;
	tracee->priv->knows_waiting = false;
	tracee->priv->follows_next_call = false;
	tracee->priv->entered_ns = 0;
	target_judge_anew(tracee);
	known_timers_forget(&tracee->priv->target->timers, tracee->tgid);
	tracee->priv->thread_pointer = 0;
	tracee->priv->first_sp = 0;
	tracee->priv->mapping = (struct proc_range){0};
}

static bool process_has_run(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0 &&
	       (uint64_t)time.tv_sec * NS_PER_SEC + (uint64_t)time.tv_nsec >=
		       PROC_CPU_SPLIT_LEAST_NS;
}

/* Who had less than a tick is not asked, as there are many. */
static void read_splits(const struct tracee *tracee, struct target_event *event)
{
	pid_t tid = tracee->tid, tgid = tracee->tgid;

	event->has_split = event->has_final && event->final.cpu_ns >= PROC_CPU_SPLIT_LEAST_NS &&
			   proc_read_cpu_split(tgid, tid, &event->split);
	event->has_process_split = tid == tgid && process_has_run(tgid) &&
				   proc_read_cpu_split(tgid, 0, &event->process_split);
}

static void executed(struct target *target, struct tracee *tracee, struct target_event *event)
{
	struct tracee *caller;
	pid_t former;

	consume_stop(tracee->tid);
	former = (pid_t)event_message(tracee->tid);
	caller = former != tracee->tid ? target_find(target, former) : NULL;
	event->kind = TARGET_EVENT_EXEC;
	event->former_tid = former;
	if (caller) {
		/* The first thread vanished without a word; the caller lives on under its id. */
		event->former_leader_owner = tracee->owner;
		target_forget(target, tracee);
		tracee = caller;
	}
	if (target->attaching == tracee->tgid)
		target_end_attaching(target);
	target_rename(target, tracee, tracee->tgid);
	target_forget_program(tracee);
	tracee->priv->hold = HOLD_CONT;
	ptrace(PTRACE_SETOPTIONS, tracee->tid, NULL, target_ptrace_options(target, true));
	event->tracee = tracee;
	event->has_final = target_clocks(tracee, &event->final);
	read_splits(tracee, event);
}

/* Once the command may run on: told before it can, so that nobody takes it for stopped then. */
static void tell_command_stop(struct target *target, int status)
{
	bool stops = status >> 8 == PTRACE_EVENT_STOP && target_is_job_control_stop(status & 0xff);
	int signal = stops ? status & 0xff : 0;

	if (signal == target->command_stop)
		return;
	target->command_stop = signal;
	if (target->options.command_stops)
		target->options.command_stops(target->options.context, signal);
}

static void ptrace_event(struct target *target, struct tracee *tracee, int status,
			 struct target_event *event)
{
	if (tracee->tid == target->command_pid)
		tell_command_stop(target, status);
	switch (status >> 8) {
	case PTRACE_EVENT_STOP:
		event_stop(target, tracee, status & 0xff, event);
		return;
	case PTRACE_EVENT_EXEC:
		executed(target, tracee, event);
		return;
	case PTRACE_EVENT_EXIT:
		if (target->is_ending) {
			consume_stop(tracee->tid); /* up to the end: nobody is told of it before */
			return;
		}
		tracee->priv->has_exited = true;
		tracee->priv->hold = target_hold_at_end(tracee);
		if (tracee->priv->hold != HOLD_CONT)
			consume_stop(tracee->tid); /* it may be held for long */
		tracee->interrupting = false;
		target_child_dies(target, tracee);
		event->kind = TARGET_EVENT_EXITING;
		return;
	default: /* clone, fork, vfork: the child has a stop of its own */
		if (status >> 8 != PTRACE_EVENT_CLONE)
			target_forks_in_danger(tracee);
		target_note_birth(target, tracee, (pid_t)event_message(tracee->tid),
				  status >> 8 != PTRACE_EVENT_CLONE);
		tracee->priv->hold = HOLD_CONT;
		target_resume(target, tracee);
		return;
	}
}

static void reap(pid_t tid)
{
	siginfo_t info;

	waitid(P_PID, (id_t)tid, &info, REAP_FLAGS);
}

static pid_t process_of(const struct tracee *tracee, pid_t tid)
{
	struct proc_status status;

	if (tracee)
		return tracee->tgid;
	return proc_read_status(tid, &status) ? status.tgid : 0;
}

/* Says whether it was reaped. */
static bool exited(struct target *target, const siginfo_t *info, struct target_event *event)
{
	struct tracee *tracee = target_find(target, info->si_pid);
	pid_t tgid = process_of(tracee, info->si_pid);
	struct reaping reaping = {0};

	if (!tracee) {
		target_take_birth(target, info->si_pid);
	} else if (tracee->priv->is_foreign) {
		target_forget(target, tracee);
	} else {
		if (target_postpones_reaping(target, tracee, &reaping))
			return false;
		target_before_end_of(tracee);
		event->kind = TARGET_EVENT_GONE;
		event->tracee = tracee;
		event->wait_status = wait_status_of(info);
		/* The clocks of a zombie are final; after the reaping they are gone. */
		event->has_final = target_clocks(tracee, &event->final);
		read_splits(tracee, event);
		tracee->interrupting = false;
		tracee->priv->hold = HOLD_NONE;
	}
	target_before_reaping(target, &reaping);
	reap(info->si_pid);
	target_after_reaping(target, &reaping);
	if (tgid != info->si_pid)
		target_after_end_of(target, tgid);
	return true;
}

static bool detach_stopped(const siginfo_t *info)
{
	bool of_ptrace = info->si_code == CLD_TRAPPED && info->si_status >> 8;
	int signal = of_ptrace ? 0 : info->si_status & 0x7f;

	consume_stop(info->si_pid);
	return ptrace(PTRACE_DETACH, info->si_pid, NULL, (void *)(intptr_t)signal) == 0;
}

/* Seized under an id that was another's a moment before: it goes its way at its first stop. */
static void detach_foreign(struct target *target, struct tracee *tracee, const siginfo_t *info)
{
	detach_stopped(info);
	target_forget(target, tracee);
}

/* An exec during the attach would have waited for us in that stop, and we for the exec. */
static void add_exit_stop(struct target *target, struct tracee *tracee)
{
	if (ptrace(PTRACE_SETOPTIONS, tracee->tid, NULL, target_ptrace_options(target, true)) == 0)
		tracee->priv->wants_exit_stop = false;
}

/* Nobody waits for who is about to end; and what a look has asked for is counted there. */
static void count_unasked(struct target *target, const struct target_event *event)
{
	if (event->kind == TARGET_EVENT_INTERRUPTED || event->kind == TARGET_EVENT_EXITING)
		return;
	target->stats.nr_unasked++;
	target->stats.unasked_ns += clock_monotonic_ns() - event->time_ns;
}

static void stopped(struct target *target, const siginfo_t *info, struct target_event *event)
{
	struct tracee *tracee = target_find(target, info->si_pid);

	target->stats.nr_stops++;
	if (!tracee)
		tracee = meet(target, info->si_pid, event);
	if (!tracee) {
		/* It is gone, or there is no descriptor left for its files: it shall not stand. */
		target->stats.nr_refused += detach_stopped(info);
		return;
	}
	if (tracee->priv->is_foreign) {
		detach_foreign(target, tracee, info);
		return;
	}
	if (tracee->priv->wants_exit_stop)
		add_exit_stop(target, tracee);
	event->tracee = tracee;
	tracee->priv->nr_stops++;
	tracee->priv->is_to_stop = false; /* any stop does, and has the kernel forget it */
	if (info->si_code == CLD_TRAPPED && info->si_status >> 8)
		ptrace_event(target, tracee, info->si_status, event);
	else if (info->si_code == CLD_TRAPPED && info->si_status == SYSCALL_STOP)
		syscall_stop(target, tracee);
	else
		signal_stop(target, tracee, info->si_status & 0x7f);
	count_unasked(target, event);
}

static bool peek(idtype_t which, pid_t tid, int flags, siginfo_t *info)
{
	info->si_pid = 0;
	return waitid(which, (id_t)tid, info, flags) == 0 && info->si_pid;
}

/* The kernel knows who has been born and not stopped yet, even if its maker is gone. */
bool target_is_anybody_left(const struct target *target)
{
	siginfo_t info;

	return target->nr_tracees || waitid(P_ALL, 0, &info, PEEK_FLAGS) == 0;
}

static bool is_stop(const siginfo_t *info)
{
	return info->si_code == CLD_TRAPPED || info->si_code == CLD_STOPPED;
}

static bool take(struct target *target, idtype_t which, pid_t tid, struct target_event *event);

static void take_of(struct target *target, const pid_t *tids, size_t nr, struct target_event *event)
{
	for (size_t i = 0; i < nr && event->kind == TARGET_EVENT_NONE; i++)
		take(target, P_PID, tids[i], event);
}

static bool is_unknown(const struct target *target, const siginfo_t *info)
{
	return is_stop(info) && !target_find(target, info->si_pid);
}

/*
 * Of a child that has stopped first, the parent mostly waits to tell, too. What it tells need not
 * be asked for, and it goes on sooner.
 */
static bool take_of_parents(struct target *target, struct target_event *event)
{
	pid_t parents[PARENTS_MAX];

	memset(event, 0, sizeof(*event));
	take_of(target, parents, target_recent_parents(target, parents), event);
	return event->kind != TARGET_EVENT_NONE;
}

/* Takes one status; false when there is none. */
static bool take_of_kind(struct target *target, idtype_t which, pid_t tid, int flags,
			 struct target_event *event)
{
	siginfo_t info;
	bool is_expected;

	if (!peek(which, tid, flags, &info))
		return false;
	is_expected = which == P_ALL && target_is_expected(target, info.si_pid);
	if (which == P_ALL && !is_expected && is_unknown(target, &info) &&
	    take_of_parents(target, event))
		return true;
	target->stats.nr_expected += is_expected;
	memset(event, 0, sizeof(*event));
	event->time_ns = clock_monotonic_ns();
	if (is_stop(&info))
		stopped(target, &info, event);
	else if (!exited(target, &info, event))
		return which == P_ALL;
	return true;
}

static bool take(struct target *target, idtype_t which, pid_t tid, struct target_event *event)
{
	/* The same zombie would be told of for ever. */
	bool not_the_dead = which == P_ALL && target->nr_postponed;

	return take_of_kind(target, which, tid, not_the_dead ? PEEK_FLAGS & ~WEXITED : PEEK_FLAGS,
			    event);
}

/* Who tells of a birth comes first: its child may have been born just now. */
static void take_expected(struct target *target, struct target_event *event)
{
	pid_t parents[PARENTS_MAX];
	pid_t children[UNMET_MAX];

	take_of(target, parents, target_recent_parents(target, parents), event);
	take_of(target, children, target_unmet_children(target, children), event);
}

/* To ask all takes long if they are many: only if there is nobody who is known. */
static void take_any(struct target *target, struct target_event *event)
{
	while (event->kind == TARGET_EVENT_NONE && take(target, P_ALL, 0, event))
		take_expected(target, event);
}

void target_next(struct target *target, struct target_event *event)
{
	if (target_take_pending(target, event))
		return;
	memset(event, 0, sizeof(*event));
	take_any(target, event);
}

void target_next_stop(struct target *target, struct target_event *event)
{
	if (target_take_pending(target, event))
		return;
	memset(event, 0, sizeof(*event));
	while (event->kind == TARGET_EVENT_NONE &&
	       take_of_kind(target, P_ALL, 0, PEEK_FLAGS & ~WEXITED, event))
		continue;
}

void target_next_expected(struct target *target, struct target_event *event)
{
	if (target_take_pending(target, event))
		return;
	memset(event, 0, sizeof(*event));
	take_expected(target, event);
}

void target_next_of(struct target *target, pid_t tid, struct target_event *event)
{
	if (target_take_pending_of(target, tid, event))
		return;
	memset(event, 0, sizeof(*event));
	while (event->kind == TARGET_EVENT_NONE && take(target, P_PID, tid, event))
		continue;
}

/* While a zombie is kept, waiting for all tells of nobody that has died. */
static void take_dying(struct target *target, struct target_event *event)
{
	for (size_t i = 0; i < DYING_MAX && event->kind == TARGET_EVENT_NONE; i++) {
		if (target->dying[i] && !target_find(target, target->dying[i]))
			target->dying[i] = 0;
		if (target->dying[i])
			take(target, P_PID, target->dying[i], event);
	}
}

void target_next_postponed(struct target *target, struct target_event *event)
{
	target_settle_unsure(target);
	if (target_take_pending(target, event))
		return;
	memset(event, 0, sizeof(*event));
	take_expected(target, event);
	if (event->kind == TARGET_EVENT_NONE && target_shall_ask_parents(target))
		take_any(target, event);
	for (size_t i = target->nr_postponed; event->kind == TARGET_EVENT_NONE && i-- > 0;) {
		struct postponed postponed = target->postponed[i];

		/* It may have stopped without our hearing of it, and if nobody knows it, it has. */
		take(target, postponed.parent_tid ? P_PID : P_ALL, postponed.parent_tid, event);
		if (event->kind == TARGET_EVENT_NONE)
			take(target, P_PID, postponed.tid, event);
		if (i > target->nr_postponed)
			i = target->nr_postponed;
	}
	take_dying(target, event);
	if (event->kind == TARGET_EVENT_NONE)
		target_pause_reaping(target);
}
