/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_KEY_MAP_H
#define PROFC_BASE_KEY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A map from an owner and a key of the owner's, as a process and an address, to a number. Keys that
 * are close to each other, as an allocator's blocks, have places that are close to each other.
 * Zero-initialised is empty. Open addressing, at most 5/8 full, in 16 bytes for each place; it
 * grows part by part, so that there never are two copies of all of it.
 */
struct key_map_slot {
	uint64_t key; /* 0: the slot is free */
	uint32_t owner;
	uint32_t value;
};

#define KEY_MAP_PARTS 16

struct key_map {
	struct key_map_part {
		struct key_map_slot *slots; /* owned */
		size_t nr, cap;		    /* cap is a multiple of 8 */
	} parts[KEY_MAP_PARTS];
};

void key_map_release(struct key_map *map);
size_t key_map_nr(const struct key_map *map);
/* Add a pair, or replace the value of the one that is there. The key is not 0. */
void key_map_put(struct key_map *map, uint32_t owner, uint64_t key, uint32_t value);
/* False: there is none. */
bool key_map_find(const struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value);
/* Find a pair and remove it; false: there is none. */
bool key_map_take(struct key_map *map, uint32_t owner, uint64_t key, uint32_t *value);
/* All pairs, in any order; none may be added or removed meanwhile. */
void key_map_for_each(const struct key_map *map,
		      void (*each)(void *context, const struct key_map_slot *slot), void *context);

#endif
