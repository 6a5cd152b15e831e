// SPDX-License-Identifier: GPL-2.0-or-later
/* Free places in the address space of a process. */
#include "inject/placing.h"

#include "base/address.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"
#include "patch/patch_machine.h"
#include "proc/range.h"
#include "proc/read.h"

/* Kept free on either side: stacks and heaps grow, and the kernel keeps gaps between them. */
#define MARGIN_BYTES ((uint64_t)1 << 20)
#define LOWEST	     ((uint64_t)1 << 20)
#define HIGHEST	     (PATCH_ADDRESSES - ((uint64_t)1 << 20))

struct gap {
	uint64_t start, end;
};

struct gaps {
	struct gap *rows; /* owned */
	size_t nr, cap;
};

static void add_gap(struct gaps *gaps, uint64_t start, uint64_t end)
{
	if (start >= end || end - start <= 2 * MARGIN_BYTES)
		return;
	ARRAY_GROW(gaps->rows, gaps->nr, gaps->cap);
	gaps->rows[gaps->nr++] =
		(struct gap){.start = start + MARGIN_BYTES, .end = end - MARGIN_BYTES};
}

/* Finds the free room in `part`; stops at the first mapping beyond it. */
static bool read_gaps(int maps, const struct gap *part, struct gaps *gaps)
{
	struct proc_range_walk walk;
	struct proc_range range = {.end = 0};
	uint64_t end = part->start;

	gaps->nr = 0;
	proc_range_walk_begin(&walk, maps, PROC_RANGE_ANY);
	walk.at = part->start;
	while (range.end < part->end && proc_range_walk_next(&walk, &range) &&
	       range.start <= HIGHEST) {
		/* A heap grows upwards and a stack downwards: the margins leave room. */
		add_gap(gaps, end, range.start);
		end = max_u64(end, range.end);
	}
	if (!walk.has_failed && part->end == HIGHEST)
		add_gap(gaps, end, HIGHEST);
	proc_range_walk_end(&walk);
	return !walk.has_failed;
}

/* Memory that is wanted within `reach_bytes` of what lies between two addresses. */
struct wish {
	uint64_t first, last, nr_bytes, reach_bytes;
};

/* From one end of what must be near to the other one. */
static uint64_t distance_to(const struct wish *wish, uint64_t start)
{
	return max_u64(start + wish->nr_bytes, wish->last) - min_u64(start, wish->first);
}

/*
 * Below the code as near as there is room, above it as far as jumps reach: the heap begins up to 32
 * MiB above a program that is not PIE (on aarch64 1 GiB), is not mapped when the program starts,
 * and grows upwards. Returns 0, which is in no gap, if there is no room.
 */
static uint64_t candidate(const struct wish *wish, const struct gap *gap)
{
	uint64_t end = gap->end;

	if (gap->start >= wish->last)
		end = min_u64(end, wish->first + wish->reach_bytes);
	return end < wish->nr_bytes ? 0 : page_start(end - wish->nr_bytes);
}

/* The rest above the place becomes a gap of its own, for data. */
static void take(struct gaps *gaps, size_t index, uint64_t start, uint64_t nr_bytes)
{
	struct gap above = {.start = start + nr_bytes, .end = gaps->rows[index].end};

	gaps->rows[index].end = start;
	if (above.start >= above.end)
		return;
	ARRAY_GROW(gaps->rows, gaps->nr, gaps->cap);
	gaps->rows[gaps->nr++] = above;
}

/* 0: there is no room. */
static uint64_t find_one(const struct wish *wish, struct gaps *gaps)
{
	uint64_t best_at = 0;
	size_t best = 0;

	for (size_t i = 0; i < gaps->nr; i++) {
		const struct gap *gap = &gaps->rows[i];
		uint64_t at;

		if (gap->end <= gap->start || gap->end - gap->start < wish->nr_bytes)
			continue;
		at = candidate(wish, gap);
		if (at < gap->start || at + wish->nr_bytes > gap->end ||
		    distance_to(wish, at) > wish->reach_bytes ||
		    (best_at && distance_to(wish, at) >= distance_to(wish, best_at)))
			continue;
		best = i;
		best_at = at;
	}
	if (best_at)
		take(gaps, best, best_at, wish->nr_bytes);
	return best_at;
}

static bool find_both(struct placing *place, struct gaps *gaps)
{
	const struct wish near = {.first = place->first,
				  .last = place->last,
				  .nr_bytes = place->nr_bytes,
				  .reach_bytes = PATCH_REACH_BYTES};
	struct wish data = {.nr_bytes = place->nr_data_bytes,
			    .reach_bytes = place->data_reach_bytes};

	place->found_data = 0;
	place->found = find_one(&near, gaps);
	if (!place->found || !data.nr_bytes)
		return place->found;
	data.first = place->found;
	data.last = place->found + place->nr_bytes;
	place->found_data = find_one(&data, gaps);
	return place->found_data;
}

static bool find_all(struct placing *places, size_t nr, struct gaps *gaps)
{
	bool are_found = true;

	for (size_t i = 0; i < nr && are_found; i++)
		are_found = find_both(&places[i], gaps);
	return are_found;
}

/* Up to the end of the code, from where jumps reach it: that is where there mostly is room. */
static struct gap usual_part(const struct placing *places, size_t nr)
{
	struct gap part = {.start = HIGHEST, .end = 0};

	for (size_t i = 0; i < nr; i++) {
		uint64_t first = places[i].first;

		part.start = min_u64(part.start, first - min_u64(first, PATCH_REACH_BYTES));
		part.end = max_u64(part.end, min_u64(places[i].last, HIGHEST));
	}
	part.start = max_u64(part.start, LOWEST);
	return part;
}

int placing_find(pid_t pid, int maps, struct placing *places, size_t nr, struct err *err)
{
	const struct gap parts[] = {usual_part(places, nr), {.start = LOWEST, .end = HIGHEST}};
	struct gaps gaps = {0};
	bool are_read = true, are_found = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && are_read && !are_found; i++) {
		are_read = read_gaps(maps, &parts[i], &gaps);
		are_found = are_read && find_all(places, nr, &gaps);
	}
	free(gaps.rows);
	if (!are_read)
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	return are_found ? 0
			 : err_set(err, ERR_LIMIT,
				   "process %d has no free address near enough to its code",
				   (int)pid);
}
