/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a probe at a function of an allocator. Nothing here touches a process. */
#ifndef PROFC_HEAP_PATCH_HEAP_H
#define PROFC_HEAP_PATCH_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_shared.h"
#include "patch/patch.h"

/* A function that is to be hooked. */
struct patch_heap {
	enum heap_function function;
	uint32_t hook; /* its number in struct heap_shared, below HEAP_HOOKS */
	/*
	 * It calls another hooked function: so it always takes the long way, and parts of one
	 * allocation are counted once.
	 */
	bool is_framed;
	bool is_all; /* all functions take the long way, as all is recorded */
	/*
	 * A function of an interpreter's table, so with the registers of an exported one; its first
	 * argument is none of the allocation's. Larger blocks it asks malloc() for.
	 */
	bool is_of_table;
	enum heap_threads threads;
	bool has_own_slots;	/* threads, BY_DATA, may have claimed some */
	uint64_t shared, rules; /* addresses in the process of struct heap_shared, heap_rules */
	uint64_t stub;		/* likewise, of the blob */
};

/*
 * As patch_entry(). An allocation is counted, and goes on to the stub if that brings the countdown
 * below zero; a free does if the filter knows such a pointer. Only rax, r10, r11 (x13 to x17) and
 * the flags change, which callers of exported functions expect to lose; for a user's pool, whose
 * functions may be static, only rax, as its result (x16 and x17, which every call may change).
 * *original: the function without its probe, in the thunk.
 */
enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original);

/* Does it have a short way? Others always take the long way. */
bool patch_heap_has_short_way(const struct patch_heap *heap);

/* The branches of code: to begin, set the first three members and leave `at` zero. */
struct patch_heap_leads {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t nr_bytes;
	size_t at; /* how far it was read */
};

/*
 * Find the next direct call or jump, to *target; or, with *is_word, one to the address in the word
 * at *target. False: there are no more.
 */
bool patch_heap_leads_next(struct patch_heap_leads *leads, uint64_t *target, bool *is_word);

#endif
