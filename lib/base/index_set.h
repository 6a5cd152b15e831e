/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_INDEX_SET_H
#define PROFC_BASE_INDEX_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The hash table of profc: it finds the index of an element in an array of its user. The user keeps
 * the elements and defines equality; the set has only (hash, index) pairs, open addressing, at most
 * 3/4 full. Zero-initialised is empty. Only release removes anything.
 */
struct index_set {
	struct index_slot *slots; /* owned */
	size_t cap;		  /* a power of two, or 0 */
	size_t nr;
};

#define INDEX_NONE UINT32_MAX

/* Does the element at index equal the key? `owner` is the user's pointer to the elements. */
typedef bool (*index_equal_fn)(const void *owner, uint32_t index, const void *key);

void index_set_release(struct index_set *set);
/* The index of the element equal to key, or INDEX_NONE. */
uint32_t index_set_find(const struct index_set *set, uint64_t hash, index_equal_fn equal,
			const void *owner, const void *key);
/* Add the index of an element that is known not to be in the set. */
void index_set_add(struct index_set *set, uint64_t hash, uint32_t index);

/*
 * Hashes for sets. They differ from run to run, so that no file can be crafted to make all elements
 * collide.
 */
uint64_t hash_u64(uint64_t value);
uint64_t hash_mix(uint64_t hash, uint64_t value);
uint64_t hash_bytes(const void *bytes, size_t nr_bytes);
/* Equal in every run, for things that must not change between runs (colours); not for sets. */
uint64_t scramble_u64(uint64_t value);

#endif
