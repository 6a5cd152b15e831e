// SPDX-License-Identifier: GPL-2.0-or-later
/* The properties of each metric. */
#include "profile/metric.h"

#include <string.h>

#define OF(counter) ((int)METRIC_KERNEL + (int)KERNEL_COUNTER_##counter)

#define NAMES                                                                                      \
	[METRIC_CPU] = "cpu", [METRIC_WALL] = "wall", [METRIC_RUNQ] = "runq",                      \
	[METRIC_BLOCKED] = "blocked", [METRIC_SAMPLES] = "samples", [METRIC_ELAPSED] = "elapsed",  \
	[METRIC_ALLOC] = "alloc", [METRIC_ALLOCS] = "allocs", [METRIC_LIVE] = "live",              \
	[METRIC_PEAK] = "peak", [METRIC_LEAKED] = "leaked", [METRIC_TEMPORARY] = "temporary",      \
	[METRIC_FREED] = "freed", [OF(FAULTS)] = "faults", [OF(SWITCHES)] = "switches",            \
	[OF(READ_BYTES)] = "read-bytes", [OF(WRITTEN_BYTES)] = "written-bytes",                    \
	[OF(INSTRUCTIONS)] = "instructions", [OF(CYCLES)] = "cycles",                              \
	[OF(CACHE_MISSES)] = "cache-misses", [OF(BRANCH_MISSES)] = "branch-misses",                \
	[OF(MIGRATIONS)] = "migrations"

const char *const metric_names[] = {NAMES, NULL};
const char *const metric_names_and_calls[] = {NAMES, "calls", NULL};

#define TIME_ROW(pprof, words, none, has)                                                          \
	{                                                                                          \
		.unit = "ns", .amount_words = words, .none_words = none, .pprof_weight = pprof,    \
		.kind = METRIC_OF_TIME, .parts = has                                               \
	}

#define MEMORY_ROW(words, none, pprof)                                                             \
	.unit = "bytes", .amount_words = words, .none_words = none,                                \
	.pprof_count = pprof "_objects", .pprof_weight = pprof "_space", .kind = METRIC_OF_BYTES,  \
	.is_memory = true

#define COUNT_ROW(pprof, one, many, what)                                                          \
	{                                                                                          \
		.unit = "count", .item = one, .items = many, .amount_words = "",                   \
		.none_words = many, .pprof_weight = pprof, .summary = what,                        \
		.kind = METRIC_OF_COUNT                                                            \
	}

#define BYTES_ROW(pprof, words, none, what)                                                        \
	{                                                                                          \
		.unit = "bytes", .amount_words = words, .none_words = none, .pprof_weight = pprof, \
		.summary = what, .kind = METRIC_OF_BYTES                                           \
	}

static const struct metric_info metrics[METRIC_COUNT] = {
	[METRIC_CPU] = TIME_ROW("cpu", " of CPU time", "samples with CPU time", METRIC_HAS_CPU),
	[METRIC_WALL] = TIME_ROW("wall", " of wall time", "samples with any time",
				 METRIC_HAS_CPU | METRIC_HAS_RUNQ | METRIC_HAS_BLOCKED),
	[METRIC_RUNQ] = TIME_ROW("runq", " waiting for a CPU", "samples that waited for a CPU",
				 METRIC_HAS_RUNQ),
	[METRIC_BLOCKED] =
		TIME_ROW("blocked", " blocked", "samples that were blocked", METRIC_HAS_BLOCKED),
	[METRIC_SAMPLES] = {.unit = "samples",
			    .item = "sample",
			    .items = "samples",
			    .amount_words = "",
			    .none_words = "samples",
			    .pprof_count = "samples",
			    .kind = METRIC_OF_COUNT},
	[METRIC_ELAPSED] = TIME_ROW("elapsed", " elapsed", "elapsed time",
				    METRIC_HAS_CPU | METRIC_HAS_RUNQ | METRIC_HAS_BLOCKED),
	[METRIC_ALLOC] = {MEMORY_ROW(" allocated", "blocks allocated", "alloc")},
	/* Files for pprof have the number of blocks in the columns of METRIC_ALLOC. */
	[METRIC_ALLOCS] = {.unit = "blocks",
			   .item = "block",
			   .items = "blocks",
			   .amount_words = " allocated",
			   .none_words = "blocks allocated",
			   .kind = METRIC_OF_COUNT,
			   .is_memory = true},
	[METRIC_LIVE] = {MEMORY_ROW(" alive", "blocks alive then", "inuse")},
	[METRIC_PEAK] = {MEMORY_ROW(" alive at the peak", "blocks alive then", "peak")},
	[METRIC_LEAKED] = {MEMORY_ROW(" not freed", "blocks that were not freed", "leaked")},
	[METRIC_TEMPORARY] = {MEMORY_ROW(" freed soon", "blocks that were freed so soon",
					 "temporary")},
	[METRIC_FREED] = {MEMORY_ROW(" freed", "blocks with a recorded freeing stack", "freed"),
			  .needs_freeing = true},
	[OF(FAULTS)] = COUNT_ROW("faults", "page fault", "page faults",
				 "page faults, with and without input"),
	[OF(SWITCHES)] = COUNT_ROW("switches", "context switch", "context switches",
				   "times that a thread was given a CPU"),
	[OF(READ_BYTES)] = BYTES_ROW("read_bytes", " read", "bytes read",
				     "bytes that read(2) and its like returned, from anything"),
	[OF(WRITTEN_BYTES)] = BYTES_ROW("written_bytes", " written", "bytes written",
					"bytes that write(2) and its like took, to anything"),
	[OF(INSTRUCTIONS)] = COUNT_ROW("instructions", "instruction", "instructions",
				       "instructions of the CPU in user mode"),
	[OF(CYCLES)] = COUNT_ROW("cycles", "cycle", "cycles", "cycles of the CPU in user mode"),
	[OF(CACHE_MISSES)] = COUNT_ROW("cache_misses", "cache miss", "cache misses",
				       "misses of the last cache in user mode"),
	[OF(BRANCH_MISSES)] = COUNT_ROW("branch_misses", "branch miss", "branch misses",
					"branches predicted wrongly in user mode"),
	[OF(MIGRATIONS)] = COUNT_ROW("migrations", "migration", "migrations",
				     "times that a thread was given another CPU"),
};

const struct metric_info *metric_info(enum metric metric)
{
	return &metrics[metric];
}

bool metric_parse(const char *text, enum metric *metric)
{
	for (int i = 0; i < METRIC_COUNT; i++) {
		if (strcmp(text, metric_names[i]) == 0) {
			*metric = (enum metric)i;
			return true;
		}
	}
	return false;
}
