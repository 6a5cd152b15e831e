/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_ROW_CACHE_H
#define PROFC_UNWIND_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mapping/module.h"
#include "unwind/row.h"

/*
 * Rows by the code address of a frame, open addressing, growing at half full. A code address is
 * independent of where the module is mapped, so a row serves every process and every generation.
 */
struct row_key {
	uint64_t address;
	uint32_t module;
	bool is_exact; /* the pc itself, not the byte before a return address */
};

static inline struct row_key row_key(struct code_address lookup, bool is_exact)
{
	return (struct row_key){
		.address = lookup.address, .module = lookup.module.v, .is_exact = is_exact};
}

struct row_slot {
	uint64_t address;
	uint32_t module_and_exact; /* module << 1 | is_exact */
	struct row row;		   /* ROW_EMPTY: the slot is free */
};

struct row_cache {
	struct row_slot *slots; /* owned */
	size_t cap;		/* a power of two, or 0 */
	size_t nr;
};

void row_cache_release(struct row_cache *cache);
/* Add a row with a key that is not in the cache. */
void row_cache_add(struct row_cache *cache, struct row_key key, struct row row);
/* Add a row, or replace the one that is there. */
void row_cache_put(struct row_cache *cache, struct row_key key, struct row row);

static inline uint64_t row_cache_hash(uint64_t address, uint32_t module_and_exact)
{
	/* Fibonacci hashing: one multiplication; the high bits are the good ones. */
	return ((address ^ (uint64_t)module_and_exact << 44) * UINT64_C(0x9e3779b97f4a7c15)) >> 24;
}

static inline uint32_t row_key_module(struct row_key key)
{
	return key.module << 1 | key.is_exact;
}

/* Borrowed until the next addition; NULL if not there. */
static inline const struct row *row_cache_find(const struct row_cache *cache, struct row_key key)
{
	size_t mask = cache->cap - 1;
	uint32_t module = row_key_module(key);

	if (!cache->cap)
		return NULL;
	for (size_t i = row_cache_hash(key.address, module) & mask;; i = (i + 1) & mask) {
		const struct row_slot *slot = &cache->slots[i];

		if (slot->row.kind == ROW_EMPTY)
			return NULL;
		if (slot->address == key.address && slot->module_and_exact == module)
			return &slot->row;
	}
}

#endif
