// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/key_map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

/*
 * The keys of 128 bytes, where blocks are 16 bytes apart at least: some lines of a cache. Larger
 * groups lie upon each other, and make long runs of slots that are taken.
 */
#define GROUP	  8
#define FIRST_CAP ((size_t)4 * GROUP)

void key_map_release(struct key_map *map)
{
	for (size_t i = 0; i < KEY_MAP_PARTS; i++)
		free(map->parts[i].words);
	*map = (struct key_map){.nr_more = map->nr_more};
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

/* --- slots of a part --- */

#define SLOT_WORDS (sizeof(struct key_map_slot) / sizeof(uint32_t) + 1)

static size_t slot_words(const struct key_map *map)
{
	return SLOT_WORDS + map->nr_more;
}

static struct key_map_slot *slot_at(const struct key_map *map, const struct key_map_part *part,
				    size_t at)
{
	return (struct key_map_slot *)&part->words[at * slot_words(map)];
}

static size_t next_of(const struct key_map_part *part, size_t at)
{
	return at + 1 < part->cap ? at + 1 : 0;
}

static void copy(const struct key_map *map, struct key_map_slot *to,
		 const struct key_map_slot *from)
{
	*to = *from;
	for (uint32_t i = 0; i <= map->nr_more; i++)
		to->value[i] = from->value[i];
}

/* Its slot, or the one where it would be added. */
static size_t find(const struct key_map *map, const struct key_map_part *part, uint64_t hash,
		   uint32_t owner, uint64_t key)
{
	size_t at = home_of(part, hash, key);
	const struct key_map_slot *slot = slot_at(map, part, at);

	while (slot->key && (slot->key != key || slot->owner != owner)) {
		at = next_of(part, at);
		slot = slot_at(map, part, at);
	}
	return at;
}

/* By half: more would leave more of it empty. */
static void grow(const struct key_map *map, struct key_map_part *part)
{
	struct key_map_part old = *part;

	part->cap = old.cap ? (old.cap / GROUP * 3 + 1) / 2 * GROUP : FIRST_CAP;
	part->words = xcalloc(part->cap, slot_words(map) * sizeof(uint32_t));
	for (size_t i = 0; i < old.cap; i++) {
		const struct key_map_slot *slot = slot_at(map, &old, i);
		uint64_t hash = hash_of(slot->owner, slot->key);

		if (slot->key)
			copy(map, slot_at(map, part, find(map, part, hash, slot->owner, slot->key)),
			     slot);
	}
	free(old.words);
}

static size_t distance(const struct key_map_part *part, size_t from, size_t to)
{
	return to >= from ? to - from : to + part->cap - from;
}

/* Move up later pairs that the removed one displaced, so that no search ends too early. */
static void close_gap(const struct key_map *map, struct key_map_part *part, size_t gap)
{
	struct key_map_slot *empty = slot_at(map, part, gap);

	for (size_t at = next_of(part, gap);; at = next_of(part, at)) {
		struct key_map_slot *slot = slot_at(map, part, at);
		size_t home;

		if (!slot->key)
			break;
		home = home_of(part, hash_of(slot->owner, slot->key), slot->key);
		if (distance(part, home, at) < distance(part, gap, at))
			continue;
		copy(map, empty, slot);
		empty = slot;
		gap = at;
	}
	empty->key = 0;
}

/* --- pairs --- */

uint32_t *key_map_add(struct key_map *map, uint32_t owner, uint64_t key, bool *is_new)
{
	uint64_t hash = hash_of(owner, key);
	struct key_map_part *part = &map->parts[part_of(hash)];
	struct key_map_slot *slot;

	assert(key);
	if (8 * (part->nr + 1) > 5 * part->cap)
		grow(map, part);
	slot = slot_at(map, part, find(map, part, hash, owner, key));
	*is_new = !slot->key;
	if (*is_new) {
		part->nr++;
		slot->key = key;
		slot->owner = owner;
		for (uint32_t i = 0; i <= map->nr_more; i++)
			slot->value[i] = 0;
	}
	return slot->value;
}

void key_map_put(struct key_map *map, uint32_t owner, uint64_t key, uint32_t value)
{
	bool is_new;

	*key_map_add(map, owner, key, &is_new) = value;
}

const uint32_t *key_map_find_words(const struct key_map *map, uint32_t owner, uint64_t key)
{
	uint64_t hash = hash_of(owner, key);
	const struct key_map_part *part = &map->parts[part_of(hash)];
	const struct key_map_slot *slot;

	if (!part->nr || !key)
		return NULL;
	slot = slot_at(map, part, find(map, part, hash, owner, key));
	return slot->key ? slot->value : NULL;
}

bool key_map_find(const struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value)
{
	const uint32_t *words = key_map_find_words(map, owner, key);

	if (words)
		*value = *words;
	return words;
}

/* Its first `nr` words. */
static bool take(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *words, size_t nr)
{
	uint64_t hash = hash_of(owner, key);
	struct key_map_part *part = &map->parts[part_of(hash)];
	const struct key_map_slot *slot;
	size_t at;

	if (!part->nr || !key)
		return false;
	at = find(map, part, hash, owner, key);
	slot = slot_at(map, part, at);
	if (!slot->key)
		return false;
	for (size_t i = 0; i < nr; i++)
		words[i] = slot->value[i];
	part->nr--;
	close_gap(map, part, at);
	return true;
}

bool key_map_take(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value)
{
	return take(map, owner, key, value, 1);
}

bool key_map_take_words(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *words)
{
	return take(map, owner, key, words, 1 + map->nr_more);
}

void key_map_expect(const struct key_map *map, uint32_t owner, uint64_t key)
{
	uint64_t hash = hash_of(owner, key);
	const struct key_map_part *part = &map->parts[part_of(hash)];

	if (part->cap)
		__builtin_prefetch(slot_at(map, part, home_of(part, hash, key)));
}

void key_map_for_each(const struct key_map *map,
		      void (*each)(void *context, const struct key_map_slot *slot), void *context)
{
	for (size_t i = 0; i < KEY_MAP_PARTS; i++) {
		const struct key_map_part *part = &map->parts[i];

		for (size_t at = 0; at < part->cap; at++) {
			if (slot_at(map, part, at)->key)
				each(context, slot_at(map, part, at));
		}
	}
}
