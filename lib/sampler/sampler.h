/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SAMPLER_H
#define PROFC_SAMPLER_SAMPLER_H

#include <regex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "proc/kernel_counters.h"
#include "proc/task.h"
#include "profile/heap_forget.h"
#include "unwind/unwind.h"

struct collector_cut;
struct prober;
struct profile;
struct joiners;
struct store_writer;
struct code_filter_options;

/*
 * The producing half of a recording: which thread is due when, from which CPU it is visited, and at
 * which cost. A few visitor threads take turns at leading: the leader sleeps until the next tick
 * and samples the threads that are due; if a visit takes long, another one leads. Results are
 * published to a collector (collector/collector.h), whose thread does the rest.
 */
struct sampler;

/* As in collector_options; `look` NULL: it is not called. */
struct sampler_look {
	void (*look)(void *context, const struct profile *profile);
	void *context;
	struct heap_keep heap;
};

/* The processes to observe, with descendants if children are followed. Borrowed. */
struct sampler_targets {
	const pid_t *pids; /* used by sampler_start() only */
	size_t nr_pids;
	/*
	 * They were recorded just now, by another sampler: those that have ended meanwhile are left
	 * out, and one that may not be traced is only peeked at.
	 */
	bool were_recorded;
	/* A child of ours that is recorded, whose orphans are ours, too; 0: none. */
	pid_t command;
	/* Not NULL: these, too, whenever they appear; the recording does not end without any. */
	const struct joiners *joiners;
};

struct sampler_options {
	struct sampler_targets targets;
	/*
	 * Not NULL: targets.command waits to be run, and is all there is. This is called once the
	 * sampler is ready, and returns when its exec is over: 0, or its errno.
	 */
	int (*run)(void *context);
	void *run_context;
	uint32_t frequency_hz;
	uint32_t max_overhead_ppm;	 /* 0: no governor */
	uint32_t max_cost_ppm;		 /* of one CPU, for the threads that sample; 0: any */
	uint64_t duration_ns;		 /* 0: until all processes have ended or sampler_stop() */
	uint64_t delay_ns;		 /* before the first tick */
	uint64_t max_samples, max_bytes; /* of the file before symbols; 0: no bound */
	bool paused;			 /* wait for sampler_resume() */
	bool memory_off;		 /* memory is recorded only after sampler_set_memory() */
	bool follow_children;
	bool no_cpu;		/* threads are not sampled: there are only probes */
	bool no_others;		/* what other programs use of the CPUs is left out */
	unsigned int counters;	/* the set of KERNEL_COUNTER_BIT() to read with each sample */
	const regex_t *threads; /* only threads with a matching name; NULL: all */
	enum unwinder_kind unwinder;
	size_t max_depth;
	const struct code_filter_options *within; /* borrowed; NULL: all samples are kept */
	struct prober *prober;			  /* borrowed; NULL: calls are not counted */
	struct sampler_look look;
	pid_t helper;	     /* a child of ours that is not part of the recording; 0: none */
	bool check_unwinder; /* unwind twice and compare: unwinder_check_each() */
	/*
	 * NULL, or borrowed: once another thread sets it, stacks that were not walked yet are left,
	 * so that sampler_finish() returns at once, and a search of memory ends.
	 */
	const atomic_bool *ended;
};

/*
 * Start a recording into `profile`. `writer` writes it as it grows; both are borrowed, and not to
 * be used before sampler_finish(). Returns once all processes were found, or once the command's
 * exec is over; NULL, with the reason, if that failed.
 */
struct sampler *sampler_start(const struct sampler_options *options, struct profile *profile,
			      struct store_writer *writer, struct err *err);

/* How it is with sampler_targets.joiners. Any thread. */
struct sampler_joined {
	size_t nr_processes; /* that are there now, and are recorded */
	size_t nr_gone;	     /* how many times the last one has ended */
	size_t nr_refused;   /* may not be traced, with the first reason; the others go on */
	struct err refusal;
};
struct sampler_joined sampler_joined(struct sampler *sampler);

/* The descendants of the targets that were running already when it began. */
size_t sampler_nr_descendants(const struct sampler *sampler);
/* This descriptor becomes readable when the recording has ended by itself. */
int sampler_done_fd(const struct sampler *sampler);
/*
 * This one once a process was found that dies of a signal upon which the kernel writes a core,
 * until sampler_core() says which one was last. Not a command that is dead: its status is known.
 */
int sampler_core_fd(const struct sampler *sampler);
struct sampler_core {
	pid_t pid;    /* 0: there was none since it was asked */
	bool is_over; /* else its threads are sampled where they have left their code */
};
struct sampler_core sampler_core(const struct sampler *sampler);
/*
 * Ask for the end. Any thread, any number of times. A search of memory that is under way ends at
 * once; searches at the end of the recording come after the first call.
 */
void sampler_stop(struct sampler *sampler);
/* Was sampler_stop() called? */
bool sampler_is_asked_to_stop(const struct sampler *sampler);

/*
 * Leave the processes alone for a while: the time until sampler_resume() is left out. Any thread,
 * any number of times.
 */
void sampler_pause(struct sampler *sampler);
void sampler_resume(struct sampler *sampler);
bool sampler_is_paused(const struct sampler *sampler);
/*
 * Wait until a requested pause has begun and no thread is traced, for some hundred milliseconds at
 * most: then this process may be stopped.
 */
void sampler_settle(struct sampler *sampler);
/*
 * sampler_set_memory(): record allocations or leave them out, while all else continues; frees are
 * always recorded. sampler_discard_memory(): let views show nothing that was recorded of memory up
 * to now. Both hold when the call returns. For a prober that has allocations; any thread.
 */
void sampler_set_memory(struct sampler *sampler, bool is_recorded);
void sampler_discard_memory(struct sampler *sampler);
/* The results of a search of all processes for pointers to live blocks. */
struct sampler_search {
	size_t nr_processes, nr_failed; /* searched; those that could not be searched */
	uint64_t nr_bytes, stop_ns_max; /* read; the longest time that a process was stopped */
	uint64_t nr_lost;		/* recorded blocks without a pointer to them */
};

/*
 * Search now, and set a mark of this text at that moment. Returns when the search is done, or when
 * sampler_options.ended or sampler_stop() has ended it; false: not begun, as the recording has
 * ended. For a prober that also searches in the end; any thread.
 */
bool sampler_search_memory(struct sampler *sampler, const char *text, struct sampler_search *sum);
/* Set a mark with the user's text. Any thread. */
void sampler_mark(struct sampler *sampler, const char *text);
/*
 * Look at all that sleep, in a tick at once, and publish how long they have slept: long sleeps are
 * published rarely, and a cut has them up to then. Any thread.
 */
void sampler_publish_sleeps(struct sampler *sampler);
/*
 * collector_cut(): have everything written that was recorded up to now; wait by
 * collector_cut_wait().
 */
void sampler_cut(struct sampler *sampler, struct collector_cut *cut);

struct sampler_progress {
	uint64_t nr_samples;	       /* approximately */
	size_t nr_threads, nr_blocked; /* living ones; those that were blocked when last sampled */
	uint64_t elapsed_ns;
	bool lacks_budget; /* max_cost_ppm has not sufficed for the lowest rate, for long */
};

struct sampler_progress sampler_progress(const struct sampler *sampler);

enum sampler_end {
	SAMPLER_END_TARGET,   /* no process is left */
	SAMPLER_END_DURATION, /* the time was up */
	SAMPLER_END_ASKED,
	SAMPLER_END_WRITE_FAILED, /* the file could not be written; `failure` has the reason */
	SAMPLER_END_SAMPLES,	  /* max_samples were taken */
	SAMPLER_END_SIZE,	  /* the file has max_bytes */
};

/* The first process that could not be visited, as the kernel did not let it be traced. */
struct sampler_refusal {
	uint64_t nr; /* refused visits, of all processes; 0: none, and the rest is not set */
	pid_t pid;
	char name[PROC_COMM_MAX_BYTES];
	pid_t tracer; /* a process that traces it; 0: none, but we may not trace it */
	char tracer_name[PROC_COMM_MAX_BYTES];
};

struct sampler_result {
	enum sampler_end end;
	int exec_errno; /* not 0: the command could not be executed */
	/* A visit has reaped the command, with this status of waitpid(2): the caller cannot. */
	bool command_reaped;
	int command_status;
	uint64_t nr_samples;	     /* observations, without the unattributed ones */
	uint64_t cpu_ns;	     /* all CPU time that the recording covers */
	uint64_t short_lived_cpu_ns; /* the part of processes that ended before they were found */
	struct sampler_refusal refusal;
	enum unwinder_kind unwinder;
	struct unwinder_check unwinder_check; /* zeros if not asked for */
};

/*
 * End and free a recording: stops, empties the queue, sets the profile's counters and meta.
 * `failure` receives the reason if writing failed. Left to the caller: symbols and
 * store_writer_finish(), and reaping the command, which must not be done before.
 */
void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure);

/* Call this once, before the program makes any thread: descriptors for thousands of threads. */
void sampler_reserve_descriptors(void);

/*
 * Counters of the profile are set at the end and, except cost_ppm and working_cpu_ns, after 1, 2, 4
 * ... seconds and then every minute. view/counter_words.c has the meaning of each.
 */

#endif
