/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_TARGET_H
#define PROFC_TARGET_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/cpu_split.h"
#include "proc/task.h"

struct child_signals;
struct err;
struct proc_range;
struct snapshot;

/*
 * The one place that speaks ptrace. A target is everything one tracer thread has
 * seized: processes, their threads, and what they fork. A tracer is a thread, not
 * a process (ptrace(2)), so every function here must be called by the thread that
 * called target_new().
 *
 * Only PTRACE_SEIZE and PTRACE_INTERRUPT are used, never PTRACE_ATTACH or a
 * SIGSTOP of our own. A thread is held only between an event that says so and the
 * target_resume() that must follow before the next target_next(). There is no
 * detach: the tracer thread ends, and the kernel lets everybody go without a stop.
 */
struct target;

/*
 * What a stop could do to the system call that a thread sleeps in. Most are restarted
 * without a trace, by the kernel or by the repair in here; a few cannot be repaired.
 */
struct target_care {
	bool stoppable_asleep; /* it may be stopped in its sleep, once */
	bool only_at_first;    /* but a timeout it may have would begin anew */
	/*
	 * While it lasts, also awake between sleeps, a stop spoils it: a long transfer comes
	 * out short. How much CPU time it may still take; 0: no such call.
	 */
	uint64_t spoilt_cpu_ns;
	bool is_long_transfer; /* that is what it was spoilt in */
	/* Woken for a signal it fails, or the program dies of how the kernel restarts it. */
	bool is_unrestarted;
	bool asks_for_signals; /* it fails so for a signal that another thread is woken for */
	bool late_signal;      /* a stop just after its time is up makes it wait once more */
};

/* One seized thread. Plain to read; changed by this room only, but for `owner`. */
struct tracee {
	pid_t tid, tgid;
	void *owner;		 /* the sampler's own record of the thread */
	int schedstat_fd;	 /* -1: could not be opened or kept open */
	bool interrupting;	 /* an interrupt was sent and its stop has not come yet */
	bool listening;		 /* stopped by job control, and left so */
	uint64_t interrupted_ns; /* when the interrupt was sent */
	struct target_care care; /* of the last target_look() that was TAKEN, or capture */
	/* What some of the last target_look() found: each that found it asleep, one of 8 others. */
	uint64_t nr_faults;	/* page faults it has had, */
	uint64_t faults_cpu_ns; /* by when its CPU clock showed this */
	int cpu;		/* where it was, -1: unknown */
	struct tracee_private *priv;
};

struct target_options {
	bool follow_children; /* fork, vfork, and clone of another process */
	/*
	 * Job control stops the command of target_spawn() by this signal: its first thread, which
	 * does not run on before the 0 that follows once it may. NULL: nobody wants to know.
	 */
	void (*command_stops)(void *context, int signal);
	void *context;
};

struct target *target_new(const struct target_options *options);
/* Forgets everything and closes descriptors; detaches nobody (see above). */
void target_free(struct target *target);
size_t target_nr_tracees(const struct target *target);
/* A tracee, or one that is going to be: born of one, and not met yet. By the thread that traces. */
bool target_is_anybody_left(const struct target *target);

/* What is to be run, and how it shall meet signals. */
struct target_command {
	char *const *argv; /* NULL-ended */
	const struct child_signals *signals;
};

/*
 * Start a command, seized from before its exec. The first events are those of the
 * command's EXEC, or its GONE when it could not be executed: target_exec_errno()
 * then says why. Nothing of the child's start-up runs unseized.
 */
int target_spawn(struct target *target, const struct target_command *command, pid_t *pid,
		 struct err *err);
/* 0, or the errno of the exec that failed. Asked after the GONE of a command without EXEC. */
int target_exec_errno(struct target *target);

/*
 * Is it a program that can be recorded? Fails with words if it is known not to be. Its file is
 * opened for that, and whoever serves it (FUSE) must not be traced yet: ask for all processes
 * before the first is attached to.
 */
int target_check_program(pid_t pid, struct err *err);

/* What attaching has found out about a thread. */
struct target_met {
	struct proc_schedstat clocks; /* right after it was seized, */
	bool has_clocks;	      /* if they were to be had */
	const char *name;	      /* before that; NULL: not known, nor is what follows */
	bool is_asleep;		      /* it was, and may be still: target_look() is quick then */
	uint64_t nr_threads;	      /* that its process had */
	uint64_t start_ticks;	      /* when its process began (struct proc_stat) */
	struct proc_cpu_split split;  /* where its CPU time went up to then */
};

struct target_attacher {
	/* Told of each thread that was seized; *met is gone after the call. */
	void (*each)(void *context, struct tracee *tracee, const struct target_met *met);
	/*
	 * Until a thread can be seized, or all can, others may have to go on: serve what they have
	 * to say. False: it has been waited for long enough.
	 */
	bool (*serve)(void *context);
	void *context;
};

/*
 * Seize all threads of a running process. Fails with the true reason (ERR_GONE, ERR_PERMISSION
 * with who or what forbids it) and a hint. One that executes a program is seized when that is over;
 * if it shall not be waited for, that is no failure.
 */
int target_attach(struct target *target, pid_t pid, const struct target_attacher *by,
		  struct err *err);

enum target_event_kind {
	TARGET_EVENT_NONE,	  /* nothing to report now */
	TARGET_EVENT_INTERRUPTED, /* held by our interrupt, at an instruction of its own */
	TARGET_EVENT_STOPPED,	  /* held: job control stops it, as soon as it is resumed */
	TARGET_EVENT_THREAD,	  /* held: a new thread of a known process, before its first step */
	TARGET_EVENT_PROCESS,	  /* held: the first thread of a new process; parent_pid is set */
	TARGET_EVENT_EXEC,	  /* held: the process begins anew; all other threads are gone */
	TARGET_EVENT_EXITING,	  /* held: a process' first thread, memory still there */
	TARGET_EVENT_GONE,	  /* exited and reaped; tracee is freed by target_forget() */
};

struct target_event {
	enum target_event_kind kind;
	struct tracee *tracee;
	uint64_t time_ns; /* CLOCK_MONOTONIC when it was taken */
	pid_t parent_pid; /* PROCESS: whose fork made it, 0 if it cannot be known any more */
	pid_t former_tid; /* EXEC: the thread that called it */
	void *former_leader_owner;   /* EXEC by another thread than the first: owner of the first */
	int wait_status;	     /* GONE: as of waitpid(2) */
	struct proc_schedstat final; /* GONE, EXEC: the thread's clocks then */
	bool has_final;
	/* GONE, EXEC: where its CPU time went, and, of a first thread, that of its process. */
	struct proc_cpu_split split, process_split;
	bool has_split, has_process_split;
};

/*
 * The next event, never waiting. Everything that needs no decision is dealt with
 * inside: signals are passed on, interrupted system calls are repaired. SIGCHLD is
 * sent to the process whenever there may be more; keep it blocked in all threads and
 * wait for it.
 */
void target_next(struct target *target, struct target_event *event);
/* The same for one thread only, known or not: cheap with thousands of others. */
void target_next_of(struct target *target, pid_t tid, struct target_event *event);
/* The same for all who have stopped, and for none who has died: many do that at once, at times. */
void target_next_stop(struct target *target, struct target_event *event);
/*
 * The same for those who make others, of late, and for who was born and not met yet: where a
 * SIGCHLD was for two of them, it named one. As cheap.
 */
void target_next_expected(struct target *target, struct target_event *event);
/*
 * Who has died is not always reaped at once: up to milliseconds after, when its parent can be
 * told without disturbing others. While somebody waits for that, target_next() does not tell of
 * others that have died, either. When (CLOCK_MONOTONIC) to ask for the events of those whose time
 * has come, and then for those of all; 0: there is none. So it is with a thread that was met before
 * its parent has told of it: the parent stands still until somebody asks.
 */
uint64_t target_next_reaping_ns(const struct target *target);
void target_next_postponed(struct target *target, struct target_event *event);

/*
 * Calls that were taken up again wait no longer than they would have: those whose time is up are
 * asked to return. Says when the next one's will be (CLOCK_MONOTONIC; UINT64_MAX: none).
 */
uint64_t target_end_overdue(struct target *target, uint64_t now_ns);
/*
 * Before the tracer thread ends: is there one that was taken up again before `since_ns`, and whose
 * time is up by `until_ns`? Left alone it would wait longer.
 */
bool target_awaits_timeouts(const struct target *target, uint64_t since_ns, uint64_t until_ns);

/*
 * Before the tracer thread ends, nobody may be left in a call that is carried on: from now on none
 * is. Says whether there are any yet, whose stops are to be served; to be asked again then.
 */
bool target_end_carrying(struct target *target);
/* Nor on its way to a stop: its call would fail, and nobody would repair it. */
bool target_any_is_to_stop(const struct target *target);
/*
 * Right before the tracer thread ends: who dies from now on is held up to then, and nobody is told
 * of it. Is anybody about to stop for a signal or for a call that it comes to, or a child to be
 * reaped, which sends a signal? The call of who is let go on its way to a stop fails.
 */
void target_begin_ending(struct target *target);
bool target_any_will_stop(const struct target *target);
/* Do signals come so often that it is better to wait for the next, after which none is felt? */
bool target_awaits_leaving(const struct target *target);
/* Is a child dying that was detached, whose signal may kill who is let go on its way to a stop? */
bool target_any_may_die_of_parted(const struct target *target);

/*
 * See what threads sleep in that a signal could wake, some hundred times a second; without a stop.
 * Says when to come again (CLOCK_MONOTONIC; UINT64_MAX: nobody does).
 */
uint64_t target_glance_at_sleepers(struct target *target, uint64_t now_ns);

/*
 * Ask a thread to stop; INTERRUPTED follows, some time or never. False if it is gone, or
 * if it is known to be awake in a system call that a stop would spoil.
 * Meant for threads in state R; a sleeping one is woken, so `care` has to allow it.
 */
bool target_interrupt(struct target *target, struct tracee *tracee);
/*
 * It is going to be looked at often: keep open what is read of it each time, within the bound on
 * descriptors. And no longer, as at first.
 */
void target_watch_closely(struct tracee *tracee);
void target_watch_loosely(struct target *target, struct tracee *tracee);
/*
 * Was it met in a system call that a stop would have spoilt? When the next one comes is known
 * only while the thread is off its CPU, as when we run on that one.
 */
bool target_makes_transfers(const struct tracee *tracee);
/* Let a held thread go on. Not for GONE. */
void target_resume(struct target *target, struct tracee *tracee);
/*
 * What is mapped at an address of its memory, as by proc_range_at(), in a microsecond or three;
 * false with errno.
 */
bool target_range_at(const struct tracee *tracee, uint64_t address, struct proc_range *range);
/* Free a tracee after its GONE. */
void target_forget(struct target *target, struct tracee *tracee);

/*
 * Walks of its stack end, whole, where the stack pointer of the outermost frame is this; 0: that is
 * not known. What is above is not copied with a stack pointer below.
 */
void target_know_root(struct tracee *tracee, uint64_t root_sp);
/*
 * Walks of its stack go on at this address of another stack, where a function has switched stacks
 * and will go back (Go's calls of C); 0: they do not. What is there is copied, too.
 */
void target_know_behind(struct tracee *tracee, uint64_t sp);

/*
 * Copy a held thread into `snapshot`, all but its clocks: registers, and its stack from the stack
 * pointer upwards, at most max_stack_bytes, or some MiB where its end is known.
 */
void target_capture(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot);
/*
 * Its clocks after that, while it is held or when it has just been let go; false if it is gone. Not
 * before, for the former waits until it is off its CPU (ptrace_check_attach() in kernel/ptrace.c):
 * up to then they show the last time they were updated, up to milliseconds ago. Let go, it may
 * count among the times that it was scheduled in the one that follows.
 */
bool target_capture_clocks(struct tracee *tracee, struct snapshot *snapshot);
/*
 * Copy the stack of a running thread, without stopping it, before it is interrupted from another
 * CPU, or once that is on its way: its bytes, and the code of ours and the kernel's that reads
 * them, are in this CPU's caches then, and it is known what can be copied while it gets off its
 * own. `snapshot` is for scribbling. Measured on a thread stopped 100 times a second: held for 13
 * us instead of 20.
 */
void target_rehearse(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot);
/*
 * It is going to be interrupted from another CPU than its own. Of what target_rehearse() does, no
 * more than that the capture begins before its thread has left its CPU.
 */
void target_is_elsewhere(struct tracee *tracee);

enum target_look {
	TARGET_LOOK_TAKEN,   /* the snapshot is true: the thread slept all the while */
	TARGET_LOOK_RUNNING, /* it is running or runnable: nothing was taken */
	TARGET_LOOK_CHANGED, /* it ran meanwhile: what was read is worthless */
	TARGET_LOOK_HIDDEN,  /* nor may we see where it sleeps: its process cannot be dumped */
	TARGET_LOOK_GONE,    /* it is dead */
};

/*
 * Copy a thread that sleeps, without stopping it: stack pointer, pc and system call from
 * /proc, the stack from its memory, accepted only if it was not scheduled in meanwhile.
 * All other registers stay unknown. `before` are its clocks, read just now.
 */
enum target_look target_look(struct tracee *tracee, const struct proc_schedstat *before,
			     size_t max_stack_bytes, struct snapshot *snapshot);

/* Does one that ran, or waited for a CPU, when last looked at still do? Asks for nothing more. */
bool target_still_runs(const struct tracee *tracee);
/* The next target_look() says where a thread is, though it has run on since the last. */
void target_see_afresh(struct tracee *tracee);

/*
 * Does a thread that was stopped in a system call sleep in it again, without having done
 * anything else? Compares the place with the snapshot taken at the stop.
 */
bool target_sleeps_again(struct tracee *tracee, int32_t syscall_nr, uint64_t sp);

/* Does this system call do nothing but wait, until something happens or its time is up? */
bool target_is_wait(int32_t syscall_nr);

/* The thread's clocks; false if it is gone. */
bool target_clocks(struct tracee *tracee, struct proc_schedstat *clocks);

struct target_stats {
	uint64_t nr_stops;	/* all, whatever the reason */
	uint64_t nr_unasked;	/* of them, neither asked for by target_interrupt() nor at an end */
	uint64_t unasked_ns;	/* from our noticing those to having dealt with them */
	uint64_t nr_expected;	/* told by target_next(), while target_next_expected() would have */
	uint64_t nr_interrupts; /* sent */
	uint64_t nr_signals;	/* passed on */
	uint64_t nr_spared;	/* not sent: they might have spoilt a system call */
	uint64_t
		nr_repairs; /* broken-off system calls that the kernel was asked to take up again */
	uint64_t nr_undone; /* repairs taken back for a genuine signal */
	uint64_t nr_refused; /* new threads let go as nothing could be learnt of them */
};

struct target_stats target_stats(const struct target *target);

#endif
