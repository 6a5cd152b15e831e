// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes rows of the profile from gathered blocks, and ends them. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/heap_gather_priv.h"
#include "profile/profile.h"

void heap_gather_end_row(struct profile *profile, uint32_t row, const struct heap_freed *freed,
			 bool is_moved)
{
	profile_free_allocation(profile, row, freed->time_ns, freed->thread);
	if (freed->wants_stack)
		profile_note_freeing(profile, row, freed->stack, freed->end);
	if (is_moved)
		profile_move_allocation(profile, row);
}

uint32_t heap_gather_free_of_row(struct heap_gather *gather, uint32_t row, const struct sums *sums,
				 struct thread_id freed_by, bool is_moved)
{
	struct profile *profile = gather->profile;

	if (sums->nr <= profile->heap.allocations[row].nr_more)
		row = profile_split_allocation(profile, row, (uint32_t)sums->nr, sums->size_bytes);
	if (row == NONE)
		return NONE;
	heap_gather_end_row(profile, row,
			    &(struct heap_freed){.time_ns = sums->first_ns, .thread = freed_by},
			    is_moved);
	if (profile->heap.allocations[row].nr_more)
		profile_set_mean_life(profile, row, sums->life_ns / sums->nr);
	return row;
}

struct made_row {
	struct profile_allocation row;
	uint32_t cohort; /* of blocks that are alive; or NONE */
	uint8_t which;	 /* of its rows */
	uint32_t map;	 /* from 1 on, in the order of mappings; 0: it is none */
};

static struct profile_allocation row_like(const struct likeness *like)
{
	return (struct profile_allocation){.thread = like->thread,
					   .freed_by = THREAD_NONE,
					   .former = like->former,
					   .stack = like->stack,
					   .kind = like->kind,
					   .end = like->end};
}

static void make_part_row(const struct heap_gather *gather, const struct part *part,
			  const struct sums *sums, uint64_t time_ns, uint64_t freed_ns,
			  struct made_row *made)
{
	*made = (struct made_row){.row = row_like(&gather->cohorts.at[part->like.cohort].like),
				  .cohort = NONE};
	made->row.time_ns = time_ns;
	made->row.freed_ns = freed_ns;
	made->row.size_bytes = sums->size_bytes;
	made->row.life_ns = sums->life_ns / sums->nr;
	made->row.nr_more = (uint32_t)min_u64(sums->nr - 1, UINT32_MAX);
	made->row.freed_by = part->like.freed_by;
	made->row.is_moved = part->like.is_moved;
}

/* Blocks that were freed before they had a row were alive at the peak, or at no moment. */
static size_t make_part_rows(const struct heap_gather *gather, struct made_row *made)
{
	uint64_t peak_ns = gather->peak.time_ns;
	size_t nr = 0;

	for (size_t i = 0; i < gather->parts.nr; i++) {
		struct part *part = &gather->parts.at[i];

		if (part->like.row != NONE)
			continue;
		part_comes_to_peak(gather, part);
		if (part->others.nr)
			make_part_row(gather, part, &part->others, part->time_ns,
				      max_u64(part->time_ns, 1), &made[nr++]);
		if (part->at_peak.nr)
			make_part_row(gather, part, &part->at_peak, peak_ns,
				      peak_ns + SAMPLE_TIME_GRAIN_NS, &made[nr++]);
	}
	return nr;
}

static void free_parts_of_rows(struct heap_gather *gather)
{
	for (size_t i = 0; i < gather->parts.nr; i++) {
		struct part *part = &gather->parts.at[i];

		if (part->like.row == NONE)
			continue;
		part_comes_to_peak(gather, part);
		if (part->others.nr)
			heap_gather_free_of_row(gather, part->like.row, &part->others,
						part->like.freed_by, part->like.is_moved);
		if (part->at_peak.nr)
			heap_gather_free_of_row(gather, part->like.row, &part->at_peak,
						part->like.freed_by, part->like.is_moved);
	}
}

static void make_row_of_alive(const struct cohort *cohort, const struct born *born,
			      uint64_t time_ns, struct made_row *made)
{
	made->row = row_like(&cohort->like);
	made->row.time_ns = time_ns;
	made->row.size_bytes = born->size_bytes;
	made->row.nr_more = (uint32_t)min_u64(born->nr - 1, UINT32_MAX);
}

/* Each block of them is there from the last birth on, which is no later than what it must be in. */
static size_t make_rows_of_alive(struct heap_gather *gather, struct made_row *made)
{
	size_t nr = 0;

	for (size_t i = 0; i < gather->cohorts.nr_fresh; i++) {
		uint32_t at = gather->cohorts.fresh[i];
		struct cohort *cohort = &gather->cohorts.at[at];
		uint64_t later_ns = max_u64(cohort->later.last_ns, gather->peak.time_ns + APART_NS);

		come_to_peak(gather, cohort);
		if (cohort->at_peak.nr) {
			made[nr] = (struct made_row){.cohort = at, .which = 0};
			make_row_of_alive(cohort, &cohort->at_peak, cohort->at_peak.last_ns,
					  &made[nr++]);
		}
		if (cohort->later.nr) {
			made[nr] = (struct made_row){.cohort = at, .which = 1};
			make_row_of_alive(cohort, &cohort->later, later_ns, &made[nr++]);
			gather->last_ns = max_u64(gather->last_ns, later_ns);
		}
	}
	return nr;
}

static size_t make_map_rows(const struct map_rows *maps, struct made_row *made)
{
	for (uint32_t i = 0; i < maps->nr_pending; i++)
		made[i] = (struct made_row){.row = maps->pending[i], .cohort = NONE, .map = i + 1};
	return maps->nr_pending;
}

static int by_time(const void *left, const void *right)
{
	const struct made_row *a = left;
	const struct made_row *b = right;

	if (a->row.time_ns != b->row.time_ns)
		return a->row.time_ns < b->row.time_ns ? -1 : 1;
	return (a->map > b->map) - (a->map < b->map);
}

static void add_rows(struct heap_gather *gather, struct made_row *made, size_t nr)
{
	if (nr)
		qsort(made, nr, sizeof(*made), by_time);
	for (size_t i = 0; i < nr; i++) {
		uint32_t row;

		/* A block that a failed realloc() kept may be older than the last row written. */
		gather->last_row_ns = max_u64(gather->last_row_ns, made[i].row.time_ns);
		made[i].row.time_ns = gather->last_row_ns;
		if (made[i].map)
			made[i].row.former = map_rows_former(&gather->maps, made[i].row.former);
		row = profile_add_allocation(gather->profile, &made[i].row);
		if (made[i].map)
			map_rows_made(&gather->maps, row);
		if (made[i].cohort != NONE)
			gather->cohorts.at[made[i].cohort].rows[made[i].which] = row;
	}
}

/* Drop the cohorts without a block that is alive. */
static void end_cohorts(struct heap_gather *gather)
{
	for (size_t i = 0; i < gather->cohorts.nr_ended; i++) {
		struct cohort *cohort = &gather->cohorts.at[gather->cohorts.ended[i]];

		/* One may have ended twice. */
		if (!cohort->nr_alive && cohort->has_rows)
			remove_cohort(gather, gather->cohorts.ended[i]);
		cohort->has_rows &= cohort->nr_alive != 0;
	}
	for (size_t i = 0; i < gather->cohorts.nr_fresh; i++) {
		struct cohort *cohort = &gather->cohorts.at[gather->cohorts.fresh[i]];

		cohort->has_rows = cohort->nr_alive != 0;
		cohort->last_number = gather->peak.number;
		if (!cohort->nr_alive)
			remove_cohort(gather, gather->cohorts.fresh[i]);
	}
	gather->cohorts.nr_ended = gather->cohorts.nr_fresh = 0;
	gather->alike_until_ns = 0;
	index_set_release(&gather->cohorts.by_likeness);
}

void heap_gather_make_rows(struct heap_gather *gather)
{
	struct made_row *made;
	size_t nr;

	free_parts_of_rows(gather);
	made = xcalloc(2 * (gather->parts.nr + gather->cohorts.nr_fresh) + gather->maps.nr_pending,
		       sizeof(*made));
	nr = make_part_rows(gather, made);
	nr += make_rows_of_alive(gather, made + nr);
	nr += make_map_rows(&gather->maps, made + nr);
	add_rows(gather, made, nr);
	map_rows_end(&gather->maps);
	free(made);
	end_cohorts(gather);
	gather->parts.nr = 0;
	index_set_release(&gather->parts.by_likeness);
	/* The peak starts again from the current amount. */
	gather->peak.bytes = gather->alive.bytes;
	gather->peak.number = gather->number = 0;
	gather->peak.time_ns = gather->last_ns;
	gather->peak.nr++;
}
