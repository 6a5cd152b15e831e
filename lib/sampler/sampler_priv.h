/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SAMPLER_PRIV_H
#define PROFC_SAMPLER_SAMPLER_PRIV_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/due_queue.h"
#include "base/err.h"
#include "base/histogram.h"
#include "collector/collector.h"
#include "collector/message.h"
#include "overhead/calibration.h"
#include "overhead/governor.h"
#include "overhead/placement.h"
#include "overhead/schedule.h"
#include "overhead/spending.h"
#include "proc/idle.h"
#include "proc/range.h"
#include "roster/roster.h"
#include "sampler/advances_priv.h"
#include "sampler/records.h"
#include "sampler/sampler.h"

#define VISITORS_MAX 8

/* Counts that only the leader, or a holder of the lock, changes. */
struct sampling_counts {
	uint64_t nr_late_ticks, nr_unfinished, nr_refused, nr_fixed_up, nr_signals;
	uint64_t nr_begun, nr_stops, nr_spun, nr_spared, nr_left_out, nr_held_up;
	uint64_t nr_peeks, nr_torn_peeks, nr_unseen_sleeps, nr_runnable, nr_resting;
	uint64_t nr_dropped_stacks, cost_ns, counted_ns, counting_since_ns;
	bool realtime;
	struct histogram lateness_ns, hold_ns;
};

/* A tick in progress. */
struct tick {
	uint64_t now_ns;
	bool is_last;		  /* before counting ends: nothing is postponed or left out */
	bool wants_all;		  /* looks at all that sleep, as the last one, or as asked */
	uint64_t look_ns;	  /* how long it may look at sleeping threads */
	uint64_t sleeps_asked_ns; /* sleeps published before are published at their next look */
	bool are_sleeps_asked;	  /* the next tick does that */
	struct sampled_thread **running; /* found on a CPU or runnable; owned */
	size_t nr_running, cap_running;
	struct sampled_thread **by_cpu;	       /* the one to visit on each CPU; owned */
	struct sampled_thread **former_by_cpu; /* the same of the tick before, so far; owned */
	size_t nr_cpus;
	struct proc_range *places; /* of the sample in progress; owned */
	size_t nr_places;
};

/* When the clocks of processes are read. */
struct clocks_of_processes {
	struct due_queue due;
	struct clock_alarms alarms; /* of those that are watched, until they run; */
	size_t nr_watched;	    /* so many */
};

struct sampler {
	struct sampler_options options;
	struct profile *profile;
	struct collector *collector;
	struct advance_reader advances;
	struct roster *roster;
	pthread_mutex_t lock;			/* of all members below, except atomics */
	struct visitor *visitors[VISITORS_MAX]; /* owned */
	size_t nr_visitors;
	struct visitor *leader; /* NULL: none leads */
	void *(*visitor_main)(void *);
	struct session *session;
	struct due_queue active;  /* threads that ran when last sampled, which come first */
	struct due_queue threads; /* the others */
	struct clocks_of_processes clocks;
	struct schedule schedule;
	struct governor governor;
	struct spending spending;
	struct stop_overhead overhead;
	struct placement placement;
	struct idle_meter idle;
	struct tick tick;
	struct sampling_counts counts;
	struct sampler_result result;
	uint32_t next_process, next_thread; /* serials */
};

/* Others are told by eventfd(2): that the recording has ended; and of a core, see sampler_core().
 */
struct session_events {
	int done_fd, core_fd;
	_Atomic pid_t core_pid;
	atomic_bool core_is_over;
};

/* Set by the leader, for sampler_progress(). */
struct session_progress {
	_Atomic uint64_t nr_resting;
	_Atomic bool lacks_budget;
};

/* CAP_SYS_ADMIN; CAP_SYS_PTRACE, not confined; of system calls, of others. */
struct session_rights {
	bool sees_kernel_stacks, traces_all, reads_filters;
};

/* Start and end of a recording, and requests of other threads. */
struct session {
	uint64_t start_ns; /* time 0 of the profile: the command, or the sampling, begins */
	uint64_t begun_ns; /* all processes were found: the user's times count from here */
	uint64_t ended_ns;
	uint64_t idle_again_ns, counters_again_ns;
	struct heap_session heap;
	bool counting, was_cut; /* was_cut: not counted from its beginning to its end */
	bool is_watched;	/* an idle visitor checks that the leader is not late, */
	sem_t calls;		/* and each call is for one of them, to lead or to check */
	_Atomic bool is_over;
	struct session_events events;
	sem_t requests; /* a post wakes the leader */
	size_t nr_cpus;
	size_t nr_descendants; /* see sampler_nr_descendants() */
	int top_priority;      /* the highest real-time priority of the sampled threads */
	struct session_rights rights;
	uint64_t ended_cpu_ns;		   /* of ended processes, our own included */
	struct proc_cpu_split ended_split; /* likewise, as far as it was known */
	struct other_programs *others; /* owned; used by the collector's thread; NULL: unwanted */
	_Atomic bool stop_asked, paused,
		ends_search; /* ends_search: of memory, if one is under way */
	struct session_progress progress;
};

/* visitors.c: the main loop of visitors: one leads, and samples the threads that are due. */
void visitors_calibrate(struct sampler *sampler);
int visitors_start(struct sampler *sampler, struct err *err);

/* tick.c; tick_last(): the last samples before counting ends. */
void tick_run(struct visitor *visitor, uint64_t now_ns);
void tick_last(struct visitor *visitor);

/*
 * process_clocks.c: find threads that run although they count as asleep. At the beginning of a tick
 * those of processes that have begun to run, as their alarms say, so that it samples them.
 */
void process_clocks_heed(struct sampler *sampler);
void process_clocks_check(struct sampler *sampler);

/* book.c: the sampler's records of processes and threads. */
struct roster_listener book_listener(struct sampler *sampler);
void book_begin_counting(struct sampler *sampler, uint64_t now_ns);
void book_end_counting(struct sampler *sampler, uint64_t now_ns);
bool book_is_dead(struct roster_thread *thread);
/* Is the time of all threads counted, so that a process has the sum of its threads? */
bool book_counts_all(const struct sampler *sampler);
/* A tick has found the thread alive, and read its clock; and has sampled it on a CPU. */
void book_met(struct sampled_thread *thread, uint64_t tick_ns);
void book_ran(struct sampled_thread *thread);
/* The last tick that met it found it on a CPU, and it ended before it could be stopped. */
void book_missed(struct sampled_thread *thread);
/* Note the CPU time of its reaped children from the stat of one of its threads. */
void book_see_children(struct sampled_process *process, const struct proc_stat *stat);
/* About once a second: publish the CPU time that short threads had which have ended since. */
void book_see_rest(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns);
/* While nothing is counted: notes births and ends. */
void book_keep(struct sampler *sampler, uint64_t now_ns);
void book_end(struct sampler *sampler, uint64_t now_ns);
void book_note_clocks(struct sampled_thread *thread, const struct proc_schedstat *clocks,
		      uint64_t now_ns);
void book_see_split(struct sampled_process *process);
void book_credit(struct sampler *sampler, struct sampled_process *process);
bool book_is_chosen(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);
void book_free_thread(struct sampled_thread *thread);

/* maps.c: memory maps and code for which the collector would come too late. */
void maps_read(struct sampler *sampler, struct message *message, pid_t pid);
void maps_publish_if_new(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns);
void places_ask(struct sampler *sampler, struct sampled_thread *thread,
		const struct snapshot *snapshot);
void places_publish(struct sampler *sampler, struct message *message);

/* probing.c: exact counts beside the samples, if requested. */
void probing_born(struct sampler *sampler, const struct message_process *process,
		  enum roster_origin origin);
/* block_source.end; `context` is the sampler. */
void probing_end(void *context, struct consumer *consumer, uint32_t process, uint64_t time_ns,
		 enum process_end how);
void probing_set_counting(struct sampler *sampler);
void probing_end_counting(struct sampler *sampler); /* for good, at session->ended_ns */
/* Give a thread that was stopped in a probe its place in the program. */
void probing_correct(struct sampler *sampler, struct snapshot *snapshot);
void probing_add_rows(void *context, struct profile *profile);
void probing_add_step(void *context, uint32_t process, const struct unwind_step *step, bool root);
bool probing_set_frame_links(void *context, uint32_t process, const struct frame_links *links);
/* following.c: ends and execs, if no thread is sampled. */
void follow_processes(struct sampler *sampler);
/* counters.c: the CPU time of all visitors, up to their last tick. */
#define COUNTERS_MAX 40
uint64_t counters_cpu_ns(const struct sampler *sampler);
size_t counters_read(const struct sampler *sampler, struct message_counter *out);
void counters_publish(struct sampler *sampler, uint64_t now_ns);

#endif
