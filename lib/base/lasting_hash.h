/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash that is the same in all runs, for what is in files: FNV-1a of 64 bits. */
#ifndef PROFC_BASE_LASTING_HASH_H
#define PROFC_BASE_LASTING_HASH_H

#include <stddef.h>
#include <stdint.h>

#define LASTING_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t lasting_hash_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x100000001b3);
}

/* Continues `hash`, at first LASTING_HASH_BEGIN, with bytes; sets of elements use hash_bytes(). */
static inline uint64_t lasting_hash(uint64_t hash, const void *bytes, size_t nr_bytes)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < nr_bytes; i++)
		hash = lasting_hash_number(hash, at[i]);
	return hash;
}

#endif
