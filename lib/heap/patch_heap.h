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
	 * It calls another one that is hooked: it takes the long way always, so that what is
	 * part of one allocation is counted once.
	 */
	bool is_framed;
	bool is_all; /* so does everything, as all is recorded */
	enum heap_threads threads;
	uint64_t shared, rules; /* addresses in the process of struct heap_shared, heap_rules */
	uint64_t stub;		/* likewise, of the blob */
};

/*
 * As patch_entry(): an allocation is counted, and goes on to the stub if that brings the countdown
 * below zero; what is freed does if the filter has its like. Only rax, r10, r11 and the flags
 * change, which callers of exported functions expect to lose; of a pool's function, which may be
 * static, rax only as its result. *original: where the function
 * is, in the thunk, for who calls it from behind the probe.
 */
enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original);

/* Where code leads: to begin, fill in the first three and leave `at` zero. */
struct patch_heap_leads {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t nr_bytes;
	size_t at; /* what was looked at */
};

/*
 * The next direct call or jump, to *target, or, with *is_word, one to where the word at *target
 * points. False: there are no more.
 */
bool patch_heap_leads_next(struct patch_heap_leads *leads, uint64_t *target, bool *is_word);

#endif
