// SPDX-License-Identifier: GPL-2.0-or-later
/* Free places in the address space of a process. */
#include "inject/placing.h"

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/minmax.h"
#include "patch/patch_machine.h"
#include "proc/maps.h"
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

static bool read_gaps(pid_t pid, struct gaps *gaps)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	uint64_t end = LOWEST;

	if (!proc_read_process_file(pid, "maps", &text))
		return false;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (proc_maps_next(&iter, &map) == 1) {
		if (map.start > HIGHEST)
			break;
		/* A heap grows upwards and a stack downwards: the margins leave room. */
		add_gap(gaps, end, map.start);
		end = map.end;
	}
	add_gap(gaps, end, HIGHEST);
	buf_release(&text);
	return true;
}

/* From one end of what must be near to the other one. */
static uint64_t distance_to(const struct placing *place, uint64_t start, bool ends_far)
{
	uint64_t near = start + (ends_far ? 0 : place->nr_far_bytes);
	uint64_t end = start + place->nr_bytes - (ends_far ? place->nr_far_bytes : 0);

	return max_u64(end, place->last) - min_u64(near, place->first);
}

/*
 * Below the code as near as there is room, above it as far as jumps reach: the heap begins up to 32
 * MiB above a program that is not PIE, is not mapped when the program starts, and grows upwards.
 * Returns 0, which is in no gap, if there is no room.
 */
static uint64_t candidate(const struct placing *place, const struct gap *gap, bool ends_far)
{
	uint64_t end = gap->end;

	if (gap->start >= place->last)
		end = min_u64(end, place->first + PATCH_REACH_BYTES +
					   (ends_far ? place->nr_far_bytes : 0));
	return end < place->nr_bytes ? 0 : page_start(end - place->nr_bytes);
}

static bool find_one(struct placing *place, struct gaps *gaps, bool ends_far)
{
	struct gap *best = NULL;
	uint64_t best_at = 0;

	for (size_t i = 0; i < gaps->nr; i++) {
		struct gap *gap = &gaps->rows[i];
		uint64_t at;

		if (gap->end <= gap->start || gap->end - gap->start < place->nr_bytes)
			continue;
		at = candidate(place, gap, ends_far);
		if (at < gap->start || at + place->nr_bytes > gap->end ||
		    distance_to(place, at, ends_far) > PATCH_REACH_BYTES ||
		    (best &&
		     distance_to(place, at, ends_far) >= distance_to(place, best_at, ends_far)))
			continue;
		best = gap;
		best_at = at;
	}
	if (!best)
		return false;
	place->found = best_at;
	place->ends_far = ends_far;
	best->end = best_at;
	return true;
}

int placing_find(pid_t pid, struct placing *places, size_t nr, struct err *err)
{
	struct gaps gaps = {0};
	int status = 0;

	if (!read_gaps(pid, &gaps))
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	for (size_t i = 0; i < nr && status == 0; i++) {
		if (!find_one(&places[i], &gaps, false) &&
		    (!places[i].nr_far_bytes || !find_one(&places[i], &gaps, true)))
			status = err_set(err, ERR_LIMIT,
					 "process %d has no free address near enough to its code",
					 (int)pid);
	}
	free(gaps.rows);
	return status;
}
