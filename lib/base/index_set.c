// SPDX-License-Identifier: GPL-2.0-or-later
/* The hash set of indexes into an array of its user, and the hash functions for it. */
#include "base/index_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct index_slot {
	uint32_t hash;		 /* the low half: rejects nearly all collisions without a call */
	uint32_t index_plus_one; /* 0 marks a free slot */
};

void index_set_release(struct index_set *set)
{
	free(set->slots);
	*set = (struct index_set){0};
}

uint32_t index_set_find(const struct index_set *set, uint64_t hash, index_equal_fn equal,
			const void *owner, const void *key)
{
	if (!set->cap)
		return INDEX_NONE;
	for (size_t at = hash & (set->cap - 1);; at = (at + 1) & (set->cap - 1)) {
		const struct index_slot *slot = &set->slots[at];

		if (!slot->index_plus_one)
			return INDEX_NONE;
		if (slot->hash == (uint32_t)hash && equal(owner, slot->index_plus_one - 1, key))
			return slot->index_plus_one - 1;
	}
}

static void place(struct index_slot *slots, size_t cap, struct index_slot slot)
{
	size_t at = slot.hash & (cap - 1);

	while (slots[at].index_plus_one)
		at = (at + 1) & (cap - 1);
	slots[at] = slot;
}

static void grow(struct index_set *set)
{
	size_t cap = set->cap ? set->cap * 2 : 64;
	struct index_slot *slots = xcalloc(cap, sizeof(*slots));

	for (size_t i = 0; i < set->cap; i++) {
		if (set->slots[i].index_plus_one)
			place(slots, cap, set->slots[i]);
	}
	free(set->slots);
	set->slots = slots;
	set->cap = cap;
}

void index_set_add(struct index_set *set, uint64_t hash, uint32_t index)
{
	assert(index != INDEX_NONE);
	if (set->nr + 1 > set->cap - set->cap / 4)
		grow(set);
	place(set->slots, set->cap,
	      (struct index_slot){.hash = (uint32_t)hash, .index_plus_one = index + 1});
	set->nr++;
}

/* The finaliser of splitmix64: every input bit reaches every output bit. */
uint64_t scramble_u64(uint64_t value)
{
	value ^= value >> 30;
	value *= UINT64_C(0xbf58476d1ce4e5b9);
	value ^= value >> 27;
	value *= UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* Differs from run to run with address space randomization. */
static uint64_t key(void)
{
	static const char anchor = 0;

	return (uint64_t)(uintptr_t)&anchor;
}

uint64_t hash_u64(uint64_t value)
{
	return scramble_u64(value ^ key());
}

uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	return hash_u64(hash * UINT64_C(0x9e3779b97f4a7c15) + value + 1);
}

uint64_t hash_bytes(const void *bytes, size_t nr_bytes)
{
	const uint8_t *at = bytes;
	uint64_t hash = nr_bytes;
	uint64_t word;

	for (; nr_bytes >= sizeof(word); nr_bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (nr_bytes)
		memcpy(&word, at, nr_bytes);
	return hash_mix(hash, word);
}
