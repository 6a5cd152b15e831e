// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/key_map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

/*
 * The keys of 128 bytes, where blocks are 16 bytes apart at least: two lines of a cache. Larger
 * groups lie upon each other, and make long runs of slots that are taken.
 */
#define GROUP	  8
#define FIRST_CAP ((size_t)4 * GROUP)

void key_map_release(struct key_map *map)
{
	for (size_t i = 0; i < KEY_MAP_PARTS; i++)
		free(map->parts[i].slots);
	*map = (struct key_map){0};
}

size_t key_map_nr(const struct key_map *map)
{
	size_t nr = 0;

	for (size_t i = 0; i < KEY_MAP_PARTS; i++)
		nr += map->parts[i].nr;
	return nr;
}

/*
 * As hash_mix(), and shorter, as a removal needs it for each pair after the gap: it differs from
 * run to run with address space randomization.
 */
static uint64_t hash_of(uint32_t owner, uint64_t key)
{
	static const char anchor = 0;
	uint64_t hash = (key >> 7) + (uint64_t)(uintptr_t)&anchor + ((uint64_t)owner << 32);

	hash *= UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 32;
	return hash * UINT64_C(0x94d049bb133111eb);
}

/* By other bits than the slot. */
static size_t part_of(uint64_t hash)
{
	return (size_t)(hash >> 28) % KEY_MAP_PARTS;
}

static size_t home_of(const struct key_map_part *part, uint64_t hash, uint64_t key)
{
	return (size_t)((hash >> 32) * (part->cap / GROUP) >> 32) * GROUP + (key >> 4) % GROUP;
}

static size_t next_of(const struct key_map_part *part, size_t at)
{
	return at + 1 < part->cap ? at + 1 : 0;
}

/* Its slot, or the one where it would be added. */
static size_t slot_of(const struct key_map_part *part, uint64_t hash, uint32_t owner, uint64_t key)
{
	size_t at = home_of(part, hash, key);

	while (part->slots[at].key &&
	       (part->slots[at].key != key || part->slots[at].owner != owner))
		at = next_of(part, at);
	return at;
}

/* By half: more would leave more of it empty. */
static void grow(struct key_map_part *part)
{
	struct key_map_part old = *part;

	part->cap = old.cap ? (old.cap / GROUP * 3 + 1) / 2 * GROUP : FIRST_CAP;
	part->slots = xcalloc(part->cap, sizeof(*part->slots));
	for (size_t i = 0; i < old.cap; i++) {
		const struct key_map_slot *slot = &old.slots[i];

		if (slot->key)
			part->slots[slot_of(part, hash_of(slot->owner, slot->key), slot->owner,
					    slot->key)] = *slot;
	}
	free(old.slots);
}

void key_map_put(struct key_map *map, uint32_t owner, uint64_t key, uint32_t value)
{
	uint64_t hash = hash_of(owner, key);
	struct key_map_part *part = &map->parts[part_of(hash)];
	size_t at;

	assert(key);
	if (8 * (part->nr + 1) > 5 * part->cap)
		grow(part);
	at = slot_of(part, hash, owner, key);
	part->nr += !part->slots[at].key;
	part->slots[at] = (struct key_map_slot){.key = key, .owner = owner, .value = value};
}

bool key_map_find(const struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value)
{
	uint64_t hash = hash_of(owner, key);
	const struct key_map_part *part = &map->parts[part_of(hash)];
	size_t at;

	if (!part->nr || !key)
		return false;
	at = slot_of(part, hash, owner, key);
	*value = part->slots[at].value;
	return part->slots[at].key != 0;
}

static size_t distance(const struct key_map_part *part, size_t from, size_t to)
{
	return to >= from ? to - from : to + part->cap - from;
}

/* Move up later pairs that the removed one displaced, so that no search ends too early. */
static void close_gap(struct key_map_part *part, size_t gap)
{
	for (size_t at = next_of(part, gap); part->slots[at].key; at = next_of(part, at)) {
		const struct key_map_slot *slot = &part->slots[at];
		size_t home = home_of(part, hash_of(slot->owner, slot->key), slot->key);

		if (distance(part, home, at) < distance(part, gap, at))
			continue;
		part->slots[gap] = *slot;
		gap = at;
	}
	part->slots[gap].key = 0;
}

bool key_map_take(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value)
{
	uint64_t hash = hash_of(owner, key);
	struct key_map_part *part = &map->parts[part_of(hash)];
	size_t at;

	if (!part->nr || !key)
		return false;
	at = slot_of(part, hash, owner, key);
	if (!part->slots[at].key)
		return false;
	*value = part->slots[at].value;
	part->nr--;
	close_gap(part, at);
	return true;
}

void key_map_for_each(const struct key_map *map,
		      void (*each)(void *context, const struct key_map_slot *slot), void *context)
{
	for (size_t i = 0; i < KEY_MAP_PARTS; i++) {
		for (size_t at = 0; at < map->parts[i].cap; at++) {
			if (map->parts[i].slots[at].key)
				each(context, &map->parts[i].slots[at]);
		}
	}
}
