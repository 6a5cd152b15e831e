/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_COUNTING_H
#define PROFC_CMD_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/options.h"
#include "symbol/types.h"

struct attached;
struct err;
struct kept_files;
struct launch;
struct prober;

/* The options of record, attach and top that say what to count. */
struct count_options {
	struct option_list functions; /* --count */
	struct option_list calls_in;  /* --count-calls-in */
	struct option_list lines;     /* --count-lines */
	bool syscalls;		      /* --count-syscalls */
	uint64_t max;		      /* --count-max */
	const char *within;	      /* --within: count only inside of it; or NULL */
	struct option_list spans;     /* --spans: functions, the calls of which are timed */
	const char *latency;	      /* --latency of whatif: two functions that are counted */
	bool wakers;		      /* --wakers: note what ends waits for memory */
	const char *memory;	      /* --mem: a mean in bytes; NULL: not asked for */
	bool free_stacks;	      /* --mem-free-stacks: and where blocks are freed */
	struct option_list pools;     /* --mem-functions */
	bool reachable;		      /* --reachable: and what nothing points to in the end */
	bool memory_paused;	      /* --mem-paused: until it is asked for */
	bool no_cpu;		      /* and nothing besides */
};

static inline bool count_options_have_memory(const struct count_options *options)
{
	return options->memory || options->pools.nr;
}

#define COUNT_OPTION_VALUES_INIT                                                                   \
	{                                                                                          \
		.max = 20000                                                                       \
	}

/* clang-format off */
/* `at` as in RECORD_WHAT_OPTION_ROWS(). */
#define COUNT_OPTION_ROWS(at) \
	{.type = OPTION_SECTION, .name = "Counting"}, \
	{.type = OPTION_LIST, \
	 .name = "count", \
	 .argument = "REGEX", \
	 .offset = at(count.functions), \
	 .help = "count each call of the functions whose name matches; MODULE!REGEX: of modules " \
		 "that match; repeatable"}, \
	{.type = OPTION_LIST, \
	 .name = "count-calls-in", \
	 .argument = "WHERE", \
	 .offset = at(count.calls_in), \
	 .help = "count the calls that a function makes, or those written in lines FILE:A-B; " \
		 "repeatable"}, \
	{.type = OPTION_LIST, \
	 .name = "count-lines", \
	 .argument = "FILE", \
	 .offset = at(count.lines), \
	 .help = "count the calls written in a source file; repeatable"}, \
	{.type = OPTION_FLAG, \
	 .name = "count-syscalls", \
	 .offset = at(count.syscalls), \
	 .help = "count the C library's functions that are system calls, as read and fdatasync"}, \
	{.type = OPTION_UINT, \
	 .name = "count-max", \
	 .argument = "N", \
	 .offset = at(count.max), \
	 .min = 1, \
	 .max = 1000000, \
	 .help = "refuse to count more than N functions and calls of a process (default: 20000)"}

#define MEM_OPTION_ROWS(at) \
	{.type = OPTION_SECTION, .name = "Memory"}, \
	{.type = OPTION_STRING, \
	 .name = "mem", \
	 .argument = "RATE", \
	 .without = "512K", \
	 .offset = at(count.memory), \
	 .help = "record allocations, one in RATE bytes: 64K, 1M, all (default: 512K)"}, \
	{.type = OPTION_LIST, \
	 .name = "mem-functions", \
	 .argument = "SPEC", \
	 .offset = at(count.pools), \
	 .help = "with functions of pools: 'alloc:pool_get(size=2)', 'free:pool_put(1)'; " \
		 "repeatable"}, \
	{.type = OPTION_FLAG, \
	 .name = "mem-free-stacks", \
	 .offset = at(count.free_stacks), \
	 .help = "with --mem: record the stack that frees a block, too"}

#define MEMORY_OPTION_ROWS(at) \
	MEM_OPTION_ROWS(at), \
	{.type = OPTION_FLAG, \
	 .name = "reachable", \
	 .offset = at(count.reachable), \
	 .help = "search each process in its end for pointers to blocks that were not freed"}, \
	{.type = OPTION_FLAG, \
	 .name = "no-cpu", \
	 .offset = at(count.no_cpu), \
	 .help = "only memory or counts: do not sample where threads are"}
/* clang-format on */

/* The counting of a recording; NULL: nothing is counted. */
struct counting;
struct profile;

/*
 * *counting is NULL if the options name nothing. ERR_INVALID: one of them is wrong. Borrows from
 * both. `keeps_files`: names are looked up at the end, for which files of the search stay open.
 */
int counting_new(const struct count_options *options, struct symbol_options symbols,
		 bool keeps_files, struct counting **counting, struct err *err);
void counting_free(struct counting *counting); /* may be NULL */
struct prober *counting_prober(struct counting *counting);
/* Files that the search left open, for symbol_options.kept; borrowed. NULL: there are none. */
struct kept_files *counting_kept_files(struct counting *counting);

/*
 * Have the calls that take as long recorded of a function, or pair, of --spans. *number is its
 * profile_span.number. ERR_INVALID: there is none with this name, or its slow calls are longer
 * ones. To be called before any process is counted in. `counting` may be NULL.
 */
int counting_await_slow(struct counting *counting, const char *function, uint64_t length_ns,
			uint32_t *number, struct err *err);

/*
 * Begin to count in running processes. A descendant that cannot be counted in is left out, with a
 * warning unless it has just ended. Fails with ERR_NOT_FOUND, and a similar name, if no wanted
 * function was found, and as prober_attach() does. A failure changes no process.
 */
int counting_attach(struct counting *counting, const struct attached *attached, struct err *err);
/*
 * launch_run() of a command, counting from its beginning. If that cannot be, the command runs all
 * the same, and counting_say_trouble() says why.
 */
int counting_launch(struct counting *counting, struct launch *launch, const char *program);
/* As a warning, once; nothing if all is well. `counting` may be NULL. */
void counting_say_trouble(struct counting *counting);
/* Take everything away from the processes, and say where that failed. Any number of times. */
void counting_end(struct counting *counting);
/* After that, once all is in the profile: free what is known of the probes, tens of megabytes. */
void counting_forget_probes(struct counting *counting);
/* Show functions that share their code by the names that the user asked for. NULL: none. */
void counting_show_asked(const struct counting *counting, struct profile *profile);

#endif
