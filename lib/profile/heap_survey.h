/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_SURVEY_H
#define PROFC_PROFILE_HEAP_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/* Bytes, and the half-width of their 95% confidence interval: 0 where they are exact. */
struct heap_amount {
	double bytes, blocks, error_bytes;
};

/*
 * A counter that is set where times of blocks and frees are those at which profc last looked, some
 * milliseconds apart: the clock of the processor cannot be used.
 */
#define HEAP_COARSE_TIMES "mem_coarse_times"

/* The memory of all processes of a recording. */
struct heap_survey {
	struct heap_amount allocated; /* in all */
	bool allocated_is_exact;
	struct heap_amount live; /* when the last of the processes ended, or the recording */
	double earlier_bytes;	 /* of `live`: they were allocated before the time of the profile */
	struct heap_amount peak;
	uint64_t peak_ns;
	bool peak_is_least;  /* HEAP_COARSE_TIMES: more may have been alive between two of them */
	uint64_t nr_samples; /* blocks allocated in the time of the profile that were recorded */
	uint64_t mean_bytes; /* heap_survey_mean() */
	uint64_t nr_dropped, nr_frees_dropped; /* as in struct profile_heap_moment */
	/* Programs executed during the recording: recorded from some time after their start. */
	uint64_t nr_late;

	/* From the last moments of the processes that lived to the end. */
	bool has_moments;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, swap_bytes, heap_mapped_bytes;
	double live_heap_bytes; /* of `live`, without the program's own mappings */
	/* Attached, or the former part was discarded: there may be unknown blocks from before. */
	bool knows_before;
	uint64_t before_attach_bytes; /* an upper bound: anonymous pages when it began */
};

void heap_survey(struct heap_survey *survey, const struct profile *profile);
/* Were all blocks to be recorded, so that only lost ones are missing? */
bool heap_survey_has_all(const struct profile *profile);
/* Blocks were recorded by one in so many bytes, most of the time; 0: none was sampled. */
uint64_t heap_survey_mean(const struct profile *profile);

/* The blocks and frees that were lost, and the blocks that were recorded. */
struct heap_losses_survey {
	uint64_t nr_dropped, nr_frees, nr_recorded;
};

struct heap_losses_survey heap_survey_losses(const struct profile *profile);

#endif
