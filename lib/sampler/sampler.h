/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SAMPLER_H
#define PROFC_SAMPLER_SAMPLER_H

#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/collector.h"
#include "proc/task.h"
#include "unwind/unwind.h"

struct child_signals;
struct err;
struct profile;
struct store_writer;

/*
 * A recording: where target, unwind and profile meet. Two threads do it. The sampling
 * thread is the tracer of everything: it looks, holds threads for microseconds, copies
 * them and lets them go, and nothing else. The worker thread walks the copies, interns
 * the stacks, hands out the time and writes the file. A queue of bounded size lies
 * between them: when it is full, stacks are dropped and counted, time never is.
 */
struct sampler;

struct sampler_options {
	char *const *argv;			     /* the command to run, NULL-ended; or NULL */
	const struct child_signals *command_signals; /* how it meets signals */
	const pid_t *pids;			     /* the processes to attach to */
	size_t nr_pids;
	uint32_t frequency_hz;
	uint32_t max_overhead_ppm; /* 0: no governor */
	uint64_t duration_ns;	   /* 0: until the target ends or sampler_stop() */
	uint64_t delay_ns;	   /* after all were attached to, before the first look */
	bool paused;		   /* begins only with sampler_resume() */
	bool follow_children;
	const regex_t *threads; /* only threads whose name it is found in; NULL: all */
	enum unwinder_kind unwinder;
	size_t max_depth;
	bool check_unwinder; /* unwind twice and compare: unwinder_check_each() */
	/*
	 * Set once the user wants no more, from any thread: for as long as there is nobody yet to
	 * call sampler_stop() for, when attaching waits. Borrowed; NULL: nothing sets it.
	 */
	const atomic_bool *end_asked;
};

/*
 * Before the program makes any thread: room for all the descriptors that a target of thousands of
 * threads needs. Costs 8 bytes of the kernel's for each; without it such targets are disturbed.
 */
void sampler_reserve_descriptors(void);
/*
 * Start a recording into `profile`, written by `writer` as it goes (both borrowed, and
 * not to be touched before sampler_finish()). Returns once the target runs under the
 * profiler; NULL with the reason when that could not be brought about. SIGCHLD must be
 * blocked in the calling thread and not be ignored, and stay so.
 */
struct sampler *sampler_start(const struct sampler_options *options, struct profile *profile,
			      struct store_writer *writer, struct err *err);

/* A descriptor that becomes readable when the recording has ended by itself. */
int sampler_done_fd(const struct sampler *sampler);
/* The command that was started; 0 in attach mode. */
pid_t sampler_command_pid(const struct sampler *sampler);
/*
 * A descriptor that becomes readable once the command is gone, and stays so: others that it has
 * started may be recorded yet. Its id may be another's then. Not to be read; -1 in attach mode.
 */
int sampler_command_end_fd(const struct sampler *sampler);

/* Job control has stopped the command. */
struct command_stop {
	int signal;  /* by this one; 0: it has not */
	uint64_t nr; /* which stop of it this is */
};

/*
 * As things are now; where the command has been continued, and profc has yet to hear of it, a
 * SIGCONT still pends for it. Any thread.
 */
struct command_stop sampler_command_stop(const struct sampler *sampler);
/* A descriptor that becomes readable, as an eventfd(2) does, at each stop. */
int sampler_command_stop_fd(const struct sampler *sampler);
/*
 * The caller is about to stop this process as job control does: no more looks, and nobody held or
 * asked to stop, once this has returned; and looks again, as if no time had passed in between.
 */
void sampler_stand_by(struct sampler *sampler);
void sampler_go_on(struct sampler *sampler);
/* Ask for the end. Any thread, any number of times. */
void sampler_stop(struct sampler *sampler);

/*
 * Leave the target alone for a while: what it does meanwhile belongs to nobody. Any thread,
 * any number of times.
 */
void sampler_pause(struct sampler *sampler);
void sampler_resume(struct sampler *sampler);
bool sampler_is_paused(const struct sampler *sampler);
/* A mark in time with the user's own words. Any thread. */
void sampler_mark(struct sampler *sampler, const char *text);

/* A moment of a recording. */
struct sampler_cut {
	struct collector_cut cut;
};

/*
 * Have what was recorded up to now, and no more than that, written. Any thread; never waits. *cut
 * must stay where it is until sampler_cut_wait(); it comes about by the end of sampler_finish().
 */
void sampler_cut(struct sampler *sampler, struct sampler_cut *cut);
/*
 * Wait for it; once. How many bytes of the recording's file hold what was recorded up to the cut;
 * 0: they could not be written. The sampler may be gone by now.
 */
uint64_t sampler_cut_wait(struct sampler_cut *cut);

struct sampler_progress {
	uint64_t nr_samples; /* about so many */
	size_t nr_threads,
		nr_asleep; /* that are there; of those, asleep when they were last seen */
	uint64_t elapsed_ns;
};

struct sampler_progress sampler_progress(const struct sampler *sampler);

enum sampler_end {
	SAMPLER_END_TARGET,   /* nothing is left to be profiled */
	SAMPLER_END_DURATION, /* the time was up */
	SAMPLER_END_ASKED,
	SAMPLER_END_WRITE_FAILED, /* the file could not be written; `failure` says why */
};

struct sampler_result {
	enum sampler_end end;
	pid_t command_pid;   /* 0 in attach mode */
	bool command_exited; /* reaped; else it runs on and is the caller's to wait for */
	int command_status;  /* as of waitpid(2), if command_exited */
	int exec_errno;	     /* not 0: the command could not be executed */
	/*
	 * The first set-user-id program, by its process' name, that ran without its privileges
	 * because it was traced; "" if none did.
	 */
	char unprivileged[PROC_COMM_MAX_BYTES];
	uint64_t nr_samples; /* observations, the unattributed ones not counted */
	uint64_t cpu_ns;     /* all CPU time that the recording covers */
	enum unwinder_kind unwinder;
	struct unwinder_check unwinder_check; /* all 0 if not asked for */
};

/*
 * End and free a recording: stops, lets everybody go, empties the queue, sets the
 * profile's counters and meta. `failure` receives why writing failed, if it did. What
 * remains to the caller: symbols and store_writer_finish().
 */
void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure);

/*
 * Counters of the profile, set at the end and, but for those in ppm and working_cpu_ns, after
 * 1, 2, 4 ... seconds and then every minute:
 *   ticks                 moments at which the threads were looked at
 *   missed_ticks          periods that passed without a look
 *   late_ticks            looks more than a quarter of a period after their moment
 *   lateness_ns_median    how late looks began; also _p99
 *   stops                 times any thread was stopped, whatever the reason
 *   interrupts            stops that profc asked for
 *   unfinished_stops      threads still not stopped when the next look was due
 *   hold_ns_median        from asking a thread to stop to letting it go, without what it
 *                         waited for a CPU meanwhile; also _p99
 *   held_ns_total         the sum of those, and of the stops that no look asked for: of births,
 *                         signals, and system calls that are followed
 *   cost_ppm              what all stops cost the threads that ran, of their CPU time
 *   unasked_cost_ppm      what those of them do that no look asked for, which --max-overhead
 *                         does not bound
 *   blocked_looks         sleeping threads read without a stop
 *   torn_looks            of those, how many were refused: it woke meanwhile
 *   elsewhere_looks       running threads not stopped because they make many system calls, and
 *                         ran on another CPU than the sampling thread
 *   spun_stops            stops of those asked for that were awaited spinning, from an idle CPU
 *   spared_stops          threads not stopped because that might spoil a system call
 *   waiting_looks         threads that waited for a CPU when they were asked to stop
 *   stolen_ns             time that the host of a virtual machine took from threads that had a CPU:
 *                         counted as waiting for one
 *   signals               signals passed on
 *   repairs               interrupted system calls re-executed unnoticed
 *   repairs_undone        repairs taken back for a genuine signal
 *   frequency_hz_effective  looks a second, in thousandths
 *   refused_threads       new threads let go, as no file of theirs could be opened
 *   dropped_stacks        sightings whose stack was dropped: the queue was full
 *   queue_bytes_max       its high-water mark
 *   sampling_cpu_ns       CPU time of the sampling thread; working_cpu_ns of the worker
 *   unattributed_cpu_ns   CPU time of no stack; also unattributed_blocked_ns
 *   stacks_NAME           stacks by why they ended: stacks_root, stacks_no_cfi, …
 *   realtime              1: the sampling thread ran at real-time priority
 * and, set by cmd/recording.c if there were any:
 *   control_refused       lines of --control that could not be obeyed
 */

#endif
