// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/alloc.h"
#include "profile/heap_gather.h"

void live_maps_release(struct live_maps *maps)
{
	free(maps->maps);
	*maps = (struct live_maps){0};
}

/* The first mapping that ends after an address. */
static size_t first_behind(const struct live_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct live_maps *maps, size_t at, struct live_map map)
{
	ARRAY_GROW(maps->maps, maps->nr, maps->cap);
	memmove(&maps->maps[at + 1], &maps->maps[at], (maps->nr - at) * sizeof(*maps->maps));
	maps->maps[at] = map;
	maps->nr++;
}

static bool has_other_part(const struct live_maps *maps, size_t at)
{
	for (size_t i = 0; i < maps->nr; i++) {
		if (i != at && maps->maps[i].number == maps->maps[at].number)
			return true;
	}
	return false;
}

/* Remove a mapping's entry: all that is left of it, or one of several parts. */
static int remove_whole(struct live_maps *maps, size_t at, const struct live_maps_gone *gone)
{
	struct live_map map = maps->maps[at];
	bool is_left = map.is_cut && has_other_part(maps, at);

	maps->nr--;
	memmove(&maps->maps[at], &maps->maps[at + 1], (maps->nr - at) * sizeof(*maps->maps));
	if (is_left)
		return 0;
	gone->gone(gone->context, map.number);
	return map.is_cut ? -1 : 0;
}

/* A mapping that exceeds the range, on one side or both. */
static int cut(struct live_maps *maps, size_t at, uint64_t start, uint64_t end)
{
	struct live_map *map = &maps->maps[at];
	struct live_map behind = {end, map->end, map->number, true};
	bool is_new = !map->is_cut;

	map->is_cut = true;
	if (map->start >= start) {
		map->start = end;
	} else {
		bool goes_on = map->end > end;

		map->end = start;
		if (goes_on)
			insert(maps, at + 1, behind);
	}
	return is_new;
}

int live_maps_remove(struct live_maps *maps, uint64_t start, uint64_t end,
		     const struct live_maps_gone *gone)
{
	size_t at = first_behind(maps, start);
	int nr_cut = 0;

	while (start < end && at < maps->nr && maps->maps[at].start < end) {
		const struct live_map *map = &maps->maps[at];

		if (map->start >= start && map->end <= end)
			nr_cut += remove_whole(maps, at, gone);
		else
			nr_cut += cut(maps, at++, start, end);
	}
	return nr_cut;
}

int live_maps_add(struct live_maps *maps, uint64_t start, uint64_t end, uint32_t number,
		  const struct live_maps_gone *gone)
{
	int nr_cut = live_maps_remove(maps, start, end, gone);

	if (start < end)
		insert(maps, first_behind(maps, start),
		       (struct live_map){start, end, number, false});
	return nr_cut;
}

void live_maps_renumber(struct live_maps *maps, const uint32_t *numbers)
{
	size_t nr = 0;

	for (size_t i = 0; i < maps->nr; i++) {
		struct live_map map = maps->maps[i];

		map.number = numbers[map.number];
		if (map.number != UINT32_MAX)
			maps->maps[nr++] = map;
	}
	maps->nr = nr;
}

bool live_maps_find(const struct live_maps *maps, uint64_t start, uint32_t *number)
{
	size_t at = first_behind(maps, start);

	if (at == maps->nr || maps->maps[at].start != start)
		return false;
	*number = maps->maps[at].number;
	return true;
}

uint64_t live_maps_whole_pages(uint64_t nr_bytes)
{
	return page_align(nr_bytes);
}

struct applying {
	struct heap_gather *gather;
	struct live_maps_change *change;
};

static void free_one(void *context, uint32_t number)
{
	const struct applying *applying = context;
	struct live_maps_change *change = applying->change;

	change->gone = number;
	heap_gather_free_map(applying->gather, number, &change->by, change->is_move);
}

int live_maps_apply(struct live_maps *maps, struct heap_gather *gather,
		    struct live_maps_change *change)
{
	struct applying applying = {gather, change};
	const struct live_maps_gone gone = {.gone = free_one, .context = &applying};
	/* A range that wraps around contains no mapping. */
	uint64_t end = change->address + live_maps_whole_pages(change->nr_bytes);
	int nr_cut;

	change->gone = LIVE_MAPS_NONE;
	nr_cut = change->number ? live_maps_add(maps, change->address, end, *change->number, &gone)
				: live_maps_remove(maps, change->address, end, &gone);
	return nr_cut;
}
