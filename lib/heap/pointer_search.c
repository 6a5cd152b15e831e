// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the blocks that bytes of memory point to. */
#include "heap/pointer_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/minmax.h"

static int by_address(const void *left, const void *right)
{
	const struct pointer_block *a = left;
	const struct pointer_block *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* An empty block has an address of its own, too. */
static uint64_t end_of(const struct pointer_block *block)
{
	uint64_t size = max_u64(block->size, 1);

	return size > UINT64_MAX - block->address ? UINT64_MAX : block->address + size;
}

void pointer_search_init(struct pointer_search *search, struct pointer_block *blocks, size_t nr)
{
	uint64_t last = 0;

	*search = (struct pointer_search){.blocks = blocks, .nr = nr};
	if (!nr)
		return;
	qsort(blocks, nr, sizeof(*blocks), by_address);
	for (size_t i = 0; i < nr; i++) {
		size_t around = i;

		/* Blocks that have ended by then do not reach what follows, either. */
		while (around && end_of(&blocks[around - 1]) <= blocks[i].address)
			around = blocks[around - 1].around;
		blocks[i].around = around;
		last = max_u64(last, end_of(&blocks[i]));
	}
	search->first = blocks[0].address;
	search->nr_bytes = last - search->first + (last < UINT64_MAX);
}

/* The number of blocks that begin at `word` or before it. */
static size_t nr_up_to(const struct pointer_search *search, uint64_t word)
{
	size_t first = 0, nr = search->nr;

	while (nr) {
		size_t half = nr / 2;

		if (search->blocks[first + half].address <= word) {
			first += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return first;
}

static bool is_within(const struct pointer_block *block, uint64_t at)
{
	return at >= block->address && at < end_of(block);
}

/* Mappings are often adjacent: the end of one is the beginning of the next. */
static bool is_mapping(const struct pointer_block *block)
{
	return !((block->address | block->size) % page_bytes());
}

static void find_ended(struct pointer_search *search, uint64_t word, uint64_t at)
{
	for (size_t i = nr_up_to(search, word - 1); i > 0; i = search->blocks[i - 1].around) {
		struct pointer_block *block = &search->blocks[i - 1];

		if (word == end_of(block) && !is_within(block, at) && !is_mapping(block))
			block->is_perhaps = true;
	}
}

static void find(struct pointer_search *search, uint64_t word, uint64_t at, bool is_aligned)
{
	const bool is_sure = is_aligned || word > UINT32_MAX;

	for (size_t i = nr_up_to(search, word); i > 0; i = search->blocks[i - 1].around) {
		struct pointer_block *block = &search->blocks[i - 1];

		if (word < end_of(block) && !is_within(block, at)) {
			block->is_found |= is_sure;
			block->is_perhaps |= !is_sure;
		}
	}
	find_ended(search, word, at);
}

void pointer_search_bytes(struct pointer_search *search, uint64_t address, const void *bytes,
			  size_t nr_bytes)
{
	const uint64_t first = search->first, nr = search->nr_bytes;
	const uint8_t *at = bytes;
	uint64_t word;

	for (size_t i = 0; i < nr_bytes; i++) {
		memcpy(&word, at + i, sizeof(word));
		if (__builtin_expect(word - first < nr, false))
			find(search, word, address ? address + i : 0,
			     (address + i) % sizeof(word) == 0);
	}
}
