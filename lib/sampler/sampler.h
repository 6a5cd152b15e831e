/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SAMPLER_H
#define PROFC_SAMPLER_SAMPLER_H

#include <regex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/kernel_counters.h"
#include "proc/task.h"
#include "unwind/unwind.h"

struct collector_cut;
struct err;
struct prober;
struct profile;
struct store_writer;
struct code_filter_options;

/*
 * The producing half of a recording: when which thread is due, from which CPU it is visited,
 * and at what cost. A few visitor threads take turns at leading: the leader sleeps until the
 * next tick and samples the threads that are due; where a visit takes long, another leads on.
 * What is found is published to a collector (collector/collector.h), whose thread does the rest.
 */
struct sampler;

struct sampler_options {
	const pid_t *pids; /* the processes to observe */
	size_t nr_pids;
	/*
	 * Not NULL: pids[0] is a command that waits to be run. Called once the sampler is ready;
	 * returns when its exec is over: 0, or its errno.
	 */
	int (*run)(void *context);
	void *run_context;
	uint32_t frequency_hz;
	uint32_t max_overhead_ppm;	 /* 0: no governor */
	uint64_t duration_ns;		 /* 0: until all processes have ended or sampler_stop() */
	uint64_t delay_ns;		 /* before the first tick */
	uint64_t max_samples, max_bytes; /* of the file before symbols; 0: no bound */
	bool paused;			 /* begins only with sampler_resume() */
	bool memory_off;		 /* its part of memory only with sampler_set_memory() */
	bool follow_children;
	bool no_cpu;		/* threads are not sampled: there are only probes */
	unsigned int counters;	/* the set of KERNEL_COUNTER_BIT() to read with each sample */
	const regex_t *threads; /* only threads whose name it is found in; NULL: all */
	enum unwinder_kind unwinder;
	size_t max_depth;
	const struct code_filter_options *within; /* borrowed; NULL: all samples are kept */
	struct prober *prober;			  /* borrowed; NULL: calls are not counted */
	/* collector_options.look; NULL: nobody looks. */
	void (*look)(void *context, const struct profile *profile);
	void *look_context;
	pid_t helper;	     /* a child of ours that is not part of the recording; 0: none */
	bool check_unwinder; /* unwind twice and compare: unwinder_check_each() */
	/*
	 * NULL, or borrowed: once another thread sets it, stacks that were not walked yet are not,
	 * so that sampler_finish() returns at once; and a search of memory ends.
	 */
	const atomic_bool *ended;
};

/*
 * Start a recording into `profile`, written by `writer` as it goes (both borrowed, and not to be
 * touched before sampler_finish()). Returns once all processes were found, or the command's exec
 * is over; NULL with the reason when that could not be brought about.
 */
struct sampler *sampler_start(const struct sampler_options *options, struct profile *profile,
			      struct store_writer *writer, struct err *err);

/* A descriptor that becomes readable when the recording has ended by itself. */
int sampler_done_fd(const struct sampler *sampler);
/*
 * Ask for the end. Any thread, any number of times. A search of memory that is under way ends at
 * once; those that belong to the end of the recording come after the first time.
 */
void sampler_stop(struct sampler *sampler);

/*
 * Leave the processes alone for a while: their time meanwhile is left out. Any thread, any number
 * of times.
 */
void sampler_pause(struct sampler *sampler);
void sampler_resume(struct sampler *sampler);
bool sampler_is_paused(const struct sampler *sampler);
/*
 * Wait until a pause that was asked for has begun and no thread is traced, some hundred
 * milliseconds at most: so that this process may be stopped.
 */
void sampler_settle(struct sampler *sampler);
/*
 * Record allocations or leave them out, while all else goes on; that blocks are freed is recorded
 * always. And let views show nothing of what was recorded of memory up to now. Both are so when it
 * returns. For a prober that has allocations; any thread.
 */
void sampler_set_memory(struct sampler *sampler, bool is_recorded);
void sampler_discard_memory(struct sampler *sampler);
/* What a search of all processes for pointers to blocks that are alive has taken, and shown. */
struct sampler_search {
	size_t nr_processes, nr_failed; /* searched; they could not be */
	uint64_t nr_bytes, stop_ns_max; /* that were read; the longest time that one stood */
	uint64_t nr_lost;		/* recorded blocks to which nothing pointed */
};

/*
 * Search now, and set a mark of this text for that moment. Returns when it is done, or when
 * sampler_options.ended or sampler_stop() has ended it; false: not begun, as the recording has
 * ended. For a prober that is to search in the end, too; any thread.
 */
bool sampler_search_memory(struct sampler *sampler, const char *text, struct sampler_search *sum);
/* A mark in time with the user's own words. Any thread. */
void sampler_mark(struct sampler *sampler, const char *text);
/* collector_cut(): have what was recorded up to now written; wait by collector_cut_wait(). */
void sampler_cut(struct sampler *sampler, struct collector_cut *cut);

struct sampler_progress {
	uint64_t nr_samples;	       /* about so many */
	size_t nr_threads, nr_blocked; /* that are there; of those, blocked when last sampled */
	uint64_t elapsed_ns;
};

struct sampler_progress sampler_progress(const struct sampler *sampler);

enum sampler_end {
	SAMPLER_END_TARGET,   /* no process is left */
	SAMPLER_END_DURATION, /* the time was up */
	SAMPLER_END_ASKED,
	SAMPLER_END_WRITE_FAILED, /* the file could not be written; `failure` says why */
	SAMPLER_END_SAMPLES,	  /* max_samples were taken */
	SAMPLER_END_SIZE,	  /* the file has max_bytes */
};

/* The first process that could not be visited, as the kernel refused to let it be traced. */
struct sampler_refusal {
	uint64_t nr; /* visits refused, of all processes; 0: none, and nothing below */
	pid_t pid;
	char name[PROC_COMM_MAX_BYTES];
	pid_t tracer; /* a process that traces it; 0: none, it is not ours to trace */
	char tracer_name[PROC_COMM_MAX_BYTES];
};

struct sampler_result {
	enum sampler_end end;
	int exec_errno; /* not 0: the command could not be executed */
	/* The command was reaped with a visit, with this status of waitpid(2): nobody else can. */
	bool command_reaped;
	int command_status;
	uint64_t nr_samples;	     /* observations, the unattributed ones not counted */
	uint64_t cpu_ns;	     /* all CPU time that the recording covers */
	uint64_t short_lived_cpu_ns; /* of it, of processes that ended before they were found */
	struct sampler_refusal refusal;
	enum unwinder_kind unwinder;
	struct unwinder_check unwinder_check; /* all 0 if not asked for */
};

/*
 * End and free a recording: stops, empties the queue, sets the profile's counters and meta.
 * `failure` receives why writing failed, if it did. What remains to the caller: symbols and
 * store_writer_finish(); and to reap the command, which must not be done before.
 */
void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure);

/* Once, before the program makes any thread: descriptors for thousands of threads. */
void sampler_reserve_descriptors(void);

/*
 * Counters of the profile are set at the end and, but for cost_ppm and working_cpu_ns, after
 * 1, 2, 4 ... seconds and then every minute. view/counter_words.c says what each of them means.
 */

#endif
