// SPDX-License-Identifier: GPL-2.0-or-later
/* The hash table of compiled rows by code address. */
#include "unwind/row_cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

#define FIRST_CAP 1024

void row_cache_release(struct row_cache *cache)
{
	free(cache->slots);
	*cache = (struct row_cache){0};
}

static void place(struct row_slot *slots, size_t cap, const struct row_slot *slot)
{
	size_t i = row_cache_hash(slot->address, slot->module_and_exact) & (cap - 1);

	while (slots[i].row.kind != ROW_EMPTY)
		i = (i + 1) & (cap - 1);
	slots[i] = *slot;
}

static void grow(struct row_cache *cache)
{
	size_t cap = cache->cap ? cache->cap * 2 : FIRST_CAP;
	struct row_slot *slots = xcalloc(cap, sizeof(*slots));

	for (size_t i = 0; i < cache->cap; i++) {
		if (cache->slots[i].row.kind != ROW_EMPTY)
			place(slots, cap, &cache->slots[i]);
	}
	free(cache->slots);
	cache->slots = slots;
	cache->cap = cap;
}

void row_cache_add(struct row_cache *cache, struct row_key key, struct row row)
{
	struct row_slot slot = {
		.address = key.address, .module_and_exact = row_key_module(key), .row = row};

	assert(row.kind != ROW_EMPTY);
	if (cache->nr * 2 >= cache->cap)
		grow(cache);
	place(cache->slots, cache->cap, &slot);
	cache->nr++;
}

void row_cache_put(struct row_cache *cache, struct row_key key, struct row row)
{
	uint32_t module = row_key_module(key);
	size_t mask = cache->cap - 1;

	assert(row.kind != ROW_EMPTY);
	if (!row_cache_find(cache, key)) {
		row_cache_add(cache, key, row);
		return;
	}
	for (size_t i = row_cache_hash(key.address, module) & mask;; i = (i + 1) & mask) {
		struct row_slot *slot = &cache->slots[i];

		if (slot->address == key.address && slot->module_and_exact == module) {
			slot->row = row;
			return;
		}
	}
}
