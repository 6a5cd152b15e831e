/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LIVE_BLOCKS_H
#define PROFC_PROFILE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The blocks of memory that are alive, by process and address. Each event of an allocator needs one
 * look into this table, millions a second: so its functions are inline, and blocks that are close
 * to each other have slots that are close to each other.
 *
 * Zero-initialised is empty. Open addressing, at most 5/8 full, without a wrap at the end: the
 * table ends with a slot that is always free. It grows in place, so there never are two copies.
 * A block takes 45 to 63 bytes of it.
 */

/* What a gatherer keeps of a block. With HEAP_ROWS_EACH only its number is set: that of its row. */
struct live_block {
	uint32_t cohort; /* UINT32_MAX: it has none */
	uint32_t size;	 /* UINT32_MAX: see the cohort */
	uint32_t born;	 /* in BIRTH_GRAIN_NS since the cohort's begin; before any realloc() */
	uint32_t number; /* in the order of allocations, since rows were made */
};

struct live_slot {
	uint64_t address; /* 0: the slot is free */
	uint32_t process;
	struct live_block block;
} __attribute__((packed, aligned(4)));

/*
 * The slots for 128 bytes of memory, where blocks are 16 bytes apart at least: some lines of a
 * cache. Larger groups lie upon each other, and make long runs of slots that are taken.
 */
#define LIVE_GROUP	      8
#define LIVE_GROUP_LOG2	      7 /* bytes */
#define LIVE_GRANULE_LOG2     4 /* bytes */
#define LIVE_FULL_NUMERATOR   5
#define LIVE_FULL_DENOMINATOR 8

struct live_blocks {
	struct live_slot *slots; /* owned; nr_slots of them, or NULL */
	size_t nr, nr_most;	 /* blocks; more than nr_most need a larger table */
	size_t nr_groups;	 /* for homes */
	size_t nr_slots;	 /* those of the groups, and some for what the last ones displace */
};

void live_blocks_release(struct live_blocks *blocks);
/* Make room for one block more. */
void live_blocks_grow(struct live_blocks *blocks);
/* Append free slots: the last one but one was taken. */
void live_blocks_lengthen(struct live_blocks *blocks);

/* As hash_mix(), and shorter: it differs from run to run with address space randomization. */
static inline uint32_t live_blocks_hash(uint32_t process, uint64_t address)
{
	uint64_t hash = (address >> LIVE_GROUP_LOG2) + (uint64_t)(uintptr_t)&live_blocks_grow +
			((uint64_t)process << 32);

	hash *= UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 32;
	return (uint32_t)(hash * UINT64_C(0x94d049bb133111eb) >> 32);
}

/* The slot where a search begins; not of an empty table. */
static inline struct live_slot *live_blocks_home(const struct live_blocks *blocks, uint32_t process,
						 uint64_t address)
{
	size_t group = live_blocks_hash(process, address) * blocks->nr_groups >> 32;

	return &blocks->slots[group * LIVE_GROUP + (address >> LIVE_GRANULE_LOG2) % LIVE_GROUP];
}

/* Its slot, or the free one that it would get; not of an empty table. */
static inline struct live_slot *live_blocks_slot(const struct live_blocks *blocks, uint32_t process,
						 uint64_t address)
{
	struct live_slot *slot = live_blocks_home(blocks, process, address);

	while (slot->address && (slot->address != address || slot->process != process))
		slot++;
	return slot;
}

/* NULL: there is none. Borrowed until the next change. */
static inline const struct live_block *live_blocks_find(const struct live_blocks *blocks,
							uint32_t process, uint64_t address)
{
	const struct live_slot *slot;

	if (!blocks->nr || !address)
		return NULL;
	slot = live_blocks_slot(blocks, process, address);
	return slot->address ? &slot->block : NULL;
}

/* Put a block there; the address is not 0. True: `former` was there. */
static inline bool live_blocks_put(struct live_blocks *blocks, uint32_t process, uint64_t address,
				   const struct live_block *block, struct live_block *former)
{
	struct live_slot *slot;

	if (blocks->nr >= blocks->nr_most)
		live_blocks_grow(blocks);
	slot = live_blocks_slot(blocks, process, address);
	if (slot->address) {
		*former = slot->block;
		slot->block = *block;
		return true;
	}
	*slot = (struct live_slot){.address = address, .process = process, .block = *block};
	blocks->nr++;
	if (slot + 1 == blocks->slots + blocks->nr_slots)
		live_blocks_lengthen(blocks);
	return false;
}

/* Find a block and remove it. False: there is none. */
static inline bool live_blocks_take(struct live_blocks *blocks, uint32_t process, uint64_t address,
				    struct live_block *block)
{
	struct live_slot *gap, *slot;

	if (!blocks->nr || !address)
		return false;
	gap = live_blocks_slot(blocks, process, address);
	if (!gap->address)
		return false;
	*block = gap->block;
	blocks->nr--;
	/* Move up later blocks that it displaced, so that no search ends too early. */
	for (slot = gap + 1; slot->address; slot++) {
		if (live_blocks_home(blocks, slot->process, slot->address) <= gap) {
			*gap = *slot;
			gap = slot;
		}
	}
	gap->address = 0;
	return true;
}

#endif
