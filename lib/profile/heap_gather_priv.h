/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a gatherer, and their sums, between two times that rows are made of them. */
#ifndef PROFC_PROFILE_HEAP_GATHER_PRIV_H
#define PROFC_PROFILE_HEAP_GATHER_PRIV_H

#include "base/index_set.h"
#include "profile/heap_gather.h"
#include "profile/live_blocks.h"
#include "profile/map_rows.h"

#define NONE	  UINT32_MAX
#define RECENT	  256
#define MOVED_MAX 64 /* threads that are in realloc() at the same time */
/* Alive at the peak, its row and others are apart by more than a file rounds down. */
#define APART_NS (2 * SAMPLE_TIME_GRAIN_NS)

/* The facts that all blocks of a cohort share. */
struct likeness {
	uint64_t size_bytes; /* of each, if that does not fit into its number; or 0 */
	uint64_t alone;	     /* which block, if each has a row of its own; or 0 */
	uint64_t slice;	     /* of the time: the numbers for births fit into 32 bits */
	size_t nr_marks;     /* before they were allocated */
	struct thread_id thread;
	struct stack_id stack;
	uint32_t former; /* as in its row */
	uint8_t kind, end;
};

struct born {
	uint64_t nr, size_bytes;
	uint64_t last_ns; /* the last of them */
};

/*
 * Blocks that are alike, allocated between two times that rows were made: those that are alive have
 * one row in the end, or two: one for what was alive at the peak, and one for what came after it.
 */
struct cohort {
	struct likeness like;
	uint64_t begun_ns; /* births count from here */
	uint64_t nr_alive;
	/* Without rows: those that are alive. */
	uint64_t nr_peaks; /* the peak that at_peak belongs to */
	struct born at_peak, later;
	/* With rows. */
	bool has_rows;
	bool is_plain;	      /* plain_cohort() is the same */
	uint32_t rows[2];     /* or NONE */
	uint32_t last_number; /* of a block of the first row */
	uint32_t next_unused;
};

#define BIRTH_GRAIN_NS 16
#define SLICE_LOG2     36 /* ns, to be counted in 32 bits */

struct sums {
	uint64_t nr, size_bytes, life_ns;
	uint64_t first_ns; /* the first was freed */
};

/* The facts that freed blocks of one row share. */
struct part_likeness {
	uint32_t cohort;
	uint32_t row;	 /* of the cohort; NONE: it has none yet */
	size_t nr_marks; /* before they were freed, if they have a row */
	struct thread_id freed_by;
	uint8_t decade;
	bool is_moved; /* realloc() freed it */
};

struct part {
	struct part_likeness like;
	uint64_t time_ns;    /* the first birth of them */
	uint64_t nr_peaks;   /* the peak that at_peak belongs to */
	struct sums at_peak; /* alive then, */
	struct sums others;  /* or not */
};

/*
 * A block that realloc() has freed: it is kept if that fails, or else continues as another block.
 * Until then it is one of those that are alive, at no place.
 */
struct moved {
	struct live_block block;
	struct heap_freed by;
	bool is_there;
};

/* Blocks that are alive. */
struct alive {
	struct live_blocks places;
	uint64_t bytes; /* with mappings */
};

struct cohorts {
	struct cohort *at; /* owned, as all of these */
	size_t nr, cap;
	uint32_t unused; /* the first of a list; or NONE */
	uint32_t *fresh; /* without rows */
	size_t nr_fresh, cap_fresh;
	struct index_set by_likeness; /* of `fresh` */
	uint32_t recent[RECENT];      /* of `fresh`, by stack: some that were found last */
	uint32_t *ended;	      /* with rows, of which no block is alive */
	size_t nr_ended, cap_ended;
};

struct parts {
	struct part *at;
	size_t nr, cap;
	struct index_set by_likeness;
	uint32_t recent[RECENT]; /* some that were found last */
};

struct marks {
	uint64_t *at_ns;
	size_t nr, cap;
};

struct heap_gather {
	struct profile *profile;
	enum heap_rows policy;
	uint64_t nr_alone;
	struct alive alive;
	struct cohorts cohorts;
	struct parts parts;
	struct map_rows maps;
	struct marks marks;
	uint64_t last_ns, last_row_ns;
	/* Until then blocks of one origin are alike; each time that this ends an epoch begins. */
	uint64_t alike_until_ns, epoch;
	uint32_t number; /* of the last block, since rows were made */
	/* Since then: the moment with most bytes, by the last block allocated until then. */
	struct {
		uint64_t bytes, time_ns, nr;
		uint32_t number;
	} peak;
	struct moved moved[MOVED_MAX];
	uint32_t next_moved; /* the next to be replaced */
};

static inline void remove_cohort(struct heap_gather *gather, uint32_t at)
{
	gather->cohorts.at[at].next_unused = gather->cohorts.unused;
	gather->cohorts.unused = at;
}

/* At a new peak, the blocks of a cohort that came later belong to it. */
static inline void come_to_peak(const struct heap_gather *gather, struct cohort *cohort)
{
	if (cohort->nr_peaks == gather->peak.nr)
		return;
	cohort->nr_peaks = gather->peak.nr;
	if (!cohort->later.nr)
		return;
	cohort->at_peak.nr += cohort->later.nr;
	cohort->at_peak.size_bytes += cohort->later.size_bytes;
	cohort->at_peak.last_ns = cohort->later.last_ns;
	cohort->later = (struct born){0};
}

static inline void add_sums(struct sums *sums, const struct sums *more)
{
	if (!sums->nr || (more->nr && more->first_ns < sums->first_ns))
		sums->first_ns = more->first_ns;
	sums->nr += more->nr;
	sums->size_bytes += more->size_bytes;
	sums->life_ns += more->life_ns;
}

/* Blocks alive at a former, lower peak are like all others. */
static inline void part_comes_to_peak(const struct heap_gather *gather, struct part *part)
{
	if (part->nr_peaks == gather->peak.nr)
		return;
	if (part->at_peak.nr)
		add_sums(&part->others, &part->at_peak);
	part->at_peak = (struct sums){0};
	part->nr_peaks = gather->peak.nr;
}

/* heap_gather_rows.c: a row of one block, or the last blocks of a row, were freed. */
void heap_gather_end_row(struct profile *profile, uint32_t row, const struct heap_freed *freed,
			 bool is_moved);
/*
 * heap_gather_rows.c: some of a row's blocks, or all, were freed. Returns the row that they have
 * then; NONE: the row was discarded, and so are its parts.
 */
uint32_t heap_gather_free_of_row(struct heap_gather *gather, uint32_t row, const struct sums *sums,
				 struct thread_id freed_by, bool is_moved);

#endif
