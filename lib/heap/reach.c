// SPDX-License-Identifier: GPL-2.0-or-later
/* The live recorded blocks of all processes, and the search for those to which nothing points. */
#include "heap/reach.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "heap/pointer_search.h"

struct reached_process {
	uint32_t nr_alive;
	bool is_over; /* it was searched, or given up */
};

/* The last search, until it is taken. */
struct reach_found {
	uint32_t process;
	struct pointer_block *blocks; /* owned; ids are rows of `sizes` */
	struct pointer_search pointers;
	struct reach_search search;
};

struct reach {
	struct key_map blocks; /* rows of `sizes`, by serial and address */
	uint64_t *sizes;       /* owned; of all blocks so far, by row */
	size_t nr_sizes, cap_sizes;
	struct reached_process *processes; /* owned; by serial */
	size_t nr_processes, cap_processes;
	struct reach_found found;
};

struct reach *reach_new(void)
{
	return xcalloc(1, sizeof(struct reach));
}

static void release_found(struct reach_found *found)
{
	free(found->blocks);
	free(found->search.why_not);
	*found = (struct reach_found){0};
}

void reach_free(struct reach *reach)
{
	if (!reach)
		return;
	release_found(&reach->found);
	key_map_release(&reach->blocks);
	free(reach->sizes);
	free(reach->processes);
	free(reach);
}

static struct reached_process *process_of(struct reach *reach, uint32_t process)
{
	while (reach->nr_processes <= process) {
		ARRAY_GROW(reach->processes, reach->nr_processes, reach->cap_processes);
		reach->processes[reach->nr_processes++] = (struct reached_process){0};
	}
	return &reach->processes[process];
}

void reach_remove(struct reach *reach, uint32_t process, uint64_t address)
{
	uint32_t row;

	if (key_map_take(&reach->blocks, process, address, &row))
		process_of(reach, process)->nr_alive--;
}

void reach_add(struct reach *reach, uint32_t process, uint64_t address, uint64_t size)
{
	reach_remove(reach, process, address); /* its free was not recorded */
	ARRAY_GROW(reach->sizes, reach->nr_sizes, reach->cap_sizes);
	key_map_put(&reach->blocks, process, address, (uint32_t)reach->nr_sizes);
	reach->sizes[reach->nr_sizes++] = size;
	process_of(reach, process)->nr_alive++;
}

bool reach_is_due(const struct reach *reach, uint32_t process)
{
	return process < reach->nr_processes && !reach->processes[process].is_over &&
	       reach->processes[process].nr_alive;
}

/* -- a search -- */

struct listing {
	const struct reach *reach;
	struct pointer_block *blocks;
	size_t nr;
};

static void list_block(void *context, const struct key_map_slot *slot)
{
	struct listing *listing = context;

	if (slot->owner == listing->reach->found.process)
		listing->blocks[listing->nr++] =
			(struct pointer_block){.address = slot->key,
					       .size = listing->reach->sizes[slot->value],
					       .id = slot->value};
}

static void list_blocks(struct reach *reach)
{
	struct reach_found *found = &reach->found;
	size_t nr = reach->processes[found->process].nr_alive;
	struct listing listing = {.reach = reach, .blocks = xcalloc(nr, sizeof(*listing.blocks))};

	key_map_for_each(&reach->blocks, list_block, &listing);
	assert(listing.nr == nr);
	found->blocks = listing.blocks;
	pointer_search_init(&found->pointers, found->blocks, nr);
}

static struct reach_search *begin(struct reach *reach, uint32_t process, bool is_last)
{
	assert(reach_is_due(reach, process));
	release_found(&reach->found);
	reach->found.process = process;
	reach->processes[process].is_over = is_last;
	return &reach->found.search;
}

struct reach_search *reach_begin(struct reach *reach, uint32_t process, bool is_last)
{
	struct reach_search *search = begin(reach, process, is_last);

	list_blocks(reach);
	search->pointers = &reach->found.pointers;
	return search;
}

void reach_give_up(struct reach *reach, uint32_t process, const char *why_not)
{
	begin(reach, process, true)->why_not = xstrdup(why_not);
}

static bool is_still_there(const struct reach *reach, const struct pointer_block *block)
{
	uint32_t row;

	return key_map_find(&reach->blocks, reach->found.process, block->address, &row) &&
	       row == block->id;
}

void reach_take(struct reach *reach, struct block_search *out)
{
	struct reach_found *found = &reach->found;

	*out = (struct block_search){.at_ns = found->search.at_ns,
				     .stop_ns = found->search.stop_ns,
				     .nr_bytes = found->search.nr_bytes,
				     .why_not = found->search.why_not};
	found->search.why_not = NULL;
	if (!out->why_not)
		out->verdicts = xcalloc(found->pointers.nr, sizeof(*out->verdicts));
	for (size_t i = 0; i < found->pointers.nr && !out->why_not; i++) {
		const struct pointer_block *block = &found->blocks[i];

		/* A block with nothing but words that may be pointers to it may be lost, or not. */
		if (is_still_there(reach, block) && (block->is_found || !block->is_perhaps))
			out->verdicts[out->nr++] = (struct block_verdict){
				.address = block->address, .is_lost = !block->is_found};
	}
	release_found(found);
}
