// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/child_ends.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* The number of ended processes that are searched for an awaited child. */
#define ENDS_ASKED 256

static int compare_ends(const void *left, const void *right, void *context)
{
	const struct profile_process *rows = context;
	uint64_t a = rows[*(const uint32_t *)left].end_ns,
		 b = rows[*(const uint32_t *)right].end_ns;

	return (a > b) - (a < b);
}

/* PROCESS_NONE: it is not known. */
static uint32_t parent_of(const struct child_ends *ends, uint32_t process)
{
	uint32_t parent = ends->profile->processes[ends->first_rows[process]].parent;

	return parent == PROCESS_NONE ? PROCESS_NONE : ends->first_rows[parent];
}

void child_ends_init(struct child_ends *ends, const struct profile *profile)
{
	cleanup_free bool *is_replaced = xcalloc(profile->nr_processes + 1, sizeof(*is_replaced));

	ends->profile = profile;
	ends->nr_ended = 0;
	ends->ended = xcalloc(profile->nr_processes + 1, sizeof(*ends->ended));
	ends->first_rows = xcalloc(profile->nr_processes + 1, sizeof(*ends->first_rows));
	ends->has_unseen = xcalloc(profile->nr_processes + 1, sizeof(*ends->has_unseen));
	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		uint32_t parent = profile->processes[i].parent;

		ends->first_rows[i] = i;
		if (parent == PROCESS_NONE ||
		    profile->processes[parent].pid != profile->processes[i].pid)
			continue;
		is_replaced[parent] = true;
		ends->first_rows[i] = ends->first_rows[parent]; /* parents have earlier rows */
	}
	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		uint32_t parent = parent_of(ends, i);

		if (profile->processes[i].end_ns && !is_replaced[i])
			ends->ended[ends->nr_ended++] = i;
		if (profile->processes[i].nr_unseen && parent != PROCESS_NONE)
			ends->has_unseen[parent] = true;
	}
	qsort_r(ends->ended, ends->nr_ended, sizeof(*ends->ended), compare_ends,
		profile->processes);
}

void child_ends_release(struct child_ends *ends)
{
	free(ends->first_rows);
	free(ends->ended);
	free(ends->has_unseen);
	*ends = (struct child_ends){.profile = NULL};
}

/* How many processes ended up to that moment. */
static size_t nr_ended_by(const struct child_ends *ends, uint64_t ns)
{
	size_t from = 0, to = ends->nr_ended;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (ends->profile->processes[ends->ended[middle]].end_ns <= ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t child_ends_last(const struct child_ends *ends, uint32_t process, uint64_t from_ns,
			 uint64_t until_ns)
{
	size_t nr = nr_ended_by(ends, until_ns + CHILD_ENDS_LATE_NS);
	size_t last = nr > ENDS_ASKED ? nr - ENDS_ASKED : 0;

	for (; nr > last; nr--) {
		uint32_t ended = ends->ended[nr - 1];

		if (ends->profile->processes[ended].end_ns < from_ns)
			break;
		if (parent_of(ends, ended) == ends->first_rows[process] &&
		    ends->profile->processes[ends->first_rows[ended]].start_ns < until_ns)
			return ended;
	}
	return PROCESS_NONE;
}

bool child_ends_name(const struct child_ends *ends, uint32_t process, uint64_t from_ns,
		     uint64_t to_ns, struct str_id *name)
{
	size_t first = nr_ended_by(ends, from_ns), end = nr_ended_by(ends, to_ns);
	struct str_id found = STR_EMPTY;

	if (end > first + ENDS_ASKED || ends->has_unseen[ends->first_rows[process]])
		return false;
	for (; first < end; first++) {
		uint32_t ended = ends->ended[first];
		struct str_id other = ends->profile->processes[ended].name;

		if (parent_of(ends, ended) != ends->first_rows[process] ||
		    ends->profile->processes[ends->first_rows[ended]].start_ns > from_ns)
			continue;
		if (found.v != STR_EMPTY.v && found.v != other.v)
			return false;
		found = other;
	}
	*name = found;
	return found.v != STR_EMPTY.v;
}
