// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known about each metric. */
#include "profile/metric.h"

#include <string.h>

#define NAMES                                                                                      \
	[METRIC_CPU] = "cpu", [METRIC_WALL] = "wall", [METRIC_RUNQ] = "runq",                      \
	[METRIC_BLOCKED] = "blocked", [METRIC_SAMPLES] = "samples", [METRIC_ALLOC] = "alloc",      \
	[METRIC_ALLOCS] = "allocs", [METRIC_LIVE] = "live", [METRIC_PEAK] = "peak",                \
	[METRIC_LEAKED] = "leaked", [METRIC_TEMPORARY] = "temporary", [METRIC_FREED] = "freed"

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
			    .amount_words = "",
			    .none_words = "samples",
			    .pprof_count = "samples",
			    .kind = METRIC_OF_COUNT},
	[METRIC_ALLOC] = {MEMORY_ROW(" allocated", "blocks allocated", "alloc")},
	/* Files for pprof have the number of blocks in the columns of METRIC_ALLOC. */
	[METRIC_ALLOCS] = {.unit = "blocks",
			   .item = "block",
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
