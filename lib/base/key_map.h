/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_KEY_MAP_H
#define PROFC_BASE_KEY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A map from an owner and a key of the owner's, as a process and an address, to a value: a number,
 * or some words. Keys that are close to each other, as an allocator's blocks, have places that are
 * close to each other. Zero-initialised is empty. Open addressing, at most 5/8 full, in 12 bytes
 * and the value for each place; it grows part by part, so that there never are two copies of all of
 * it.
 */
struct key_map_slot {
	uint64_t key; /* 0: the slot is free */
	uint32_t owner;
	uint32_t value[]; /* the first word of it is the number */
} __attribute__((packed, aligned(4)));

#define KEY_MAP_PARTS 16

struct key_map {
	uint32_t nr_more; /* words of a value after the first; set before the first pair */
	struct key_map_part {
		uint32_t *words; /* owned; `cap` slots */
		size_t nr, cap;	 /* cap is a multiple of 8 */
	} parts[KEY_MAP_PARTS];
};

void key_map_release(struct key_map *map);
size_t key_map_nr(const struct key_map *map);
/* Add a pair, or replace the number of the one that is there. The key is not 0. */
void key_map_put(struct key_map *map, uint32_t owner, uint64_t key, uint32_t value);
/* False: there is none. */
bool key_map_find(const struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value);
/* Find a pair and remove it; false: there is none. */
bool key_map_take(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value);

/*
 * The same with all words of the value, borrowed until another pair is added or removed: those of
 * the pair that was there, or zeros of a new one. find: NULL if there is none.
 */
uint32_t *key_map_add(struct key_map *map, uint32_t owner, uint64_t key, bool *is_new);
const uint32_t *key_map_find_words(const struct key_map *map, uint32_t owner, uint64_t key);
bool key_map_take_words(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *words);

/* Announce that a pair will be looked for: its place is prefetched into the processor's cache. */
void key_map_expect(const struct key_map *map, uint32_t owner, uint64_t key);
/* All pairs, in any order; none may be added or removed meanwhile. */
void key_map_for_each(const struct key_map *map,
		      void (*each)(void *context, const struct key_map_slot *slot), void *context);

#endif
