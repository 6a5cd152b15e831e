// SPDX-License-Identifier: GPL-2.0-or-later
/* The sums of blocks, of which processes may say anything. */
#include <stdlib.h>

#include "base/clock.h"
#include "collector/block_rows.h"
#include "collector/block_source.h"
#include "profile/heap.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

#define NR_LIARS 70

/* False: it is refused. */
static bool add(struct block_rows *rows, struct profile *profile, uint32_t process, uint64_t size,
		uint64_t time_ns)
{
	const struct block_record record = {.process = process,
					    .address = 0x1000,
					    .size_bytes = size,
					    .event = BLOCK_ALLOCATED};
	const struct block_seen seen = {
		.time_ns = time_ns, .thread = (struct thread_id){process}, .stack = STACK_EMPTY};
	size_t nr = profile->heap.nr_allocations;

	block_rows_add(rows, &record, &seen);
	return profile->heap.nr_allocations > nr;
}

/* Each takes as much as it gets: half of the rest. */
TEST(collector_block_rows, processes_that_ended_leave_their_room)
{
	struct profile *profile = profile_new();
	struct block_rows *rows = block_rows_new(profile, HEAP_ROWS_EACH);

	block_rows_keep(rows, &(struct heap_keep){.span_ns = NS_PER_SEC, .max_rows = 1 << 20});
	for (uint32_t i = 0; i <= NR_LIARS; i++) {
		uint64_t time_ns = i * NS_PER_MS + 1;

		profile_add_process(profile, &(struct profile_process){.parent = PROCESS_NONE});
		profile_add_thread(profile, &(struct profile_thread){.process = i});
		if (i == NR_LIARS)
			break;
		for (uint64_t size = HEAP_TOTAL_MAX; size; size /= 2)
			add(rows, profile, i, size, time_ns);
		profile->processes[i].end_ns = time_ns + 1;
	}
	assert_false(add(rows, profile, NR_LIARS, 1000, NS_PER_SEC));
	/* Within the span all is kept. */
	free(block_rows_forget(rows, NS_PER_SEC));
	assert_false(add(rows, profile, NR_LIARS, 1000, NS_PER_SEC));
	free(block_rows_forget(rows, 3 * NS_PER_SEC));
	assert_true(add(rows, profile, NR_LIARS, 1000, 3 * NS_PER_SEC));
	assert_true(add(rows, profile, NR_LIARS, 1 << 30, 3 * NS_PER_SEC));
	block_rows_free(rows);
	profile_free(profile);
}
