/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks, as our code in a process tells them apart without a copy. */
#ifndef PROFC_PROBE_HEAP_WALK_BLOB_H
#define PROFC_PROBE_HEAP_WALK_BLOB_H

#include <asm/unistd.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe/heap_shared.h"

/* In front of this code, in the process, where the linker script has it. */
extern struct heap_shared shared __attribute__((visibility("hidden")));

#define relaxed_load(word)	 __atomic_load_n(word, __ATOMIC_RELAXED)
#define relaxed_store(word, to)	 __atomic_store_n(word, to, __ATOMIC_RELAXED)
#define relaxed_add(word, value) __atomic_fetch_add(word, value, __ATOMIC_RELAXED)
#define exchange(word, was, to)                                                                    \
	__atomic_compare_exchange_n(word, was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

static inline int64_t system_call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
				  uint64_t e)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = 0;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline struct heap_all *heap_all(void)
{
	uint64_t address = (uint64_t)&shared;

	__asm__("" : "+r"(address)); /* what is there is none of the compiler's business */
	return (struct heap_all *)address - 1;
}

static inline struct heap_private *heap_own(void)
{
	return (struct heap_private *)shared.private_address;
}

/* Bytes of the own process, that may not be there. */
bool heap_read(uint64_t from, void *to, uint64_t nr) __attribute__((visibility("hidden")));

/*
 * A signature of all return addresses from the caller of the allocator to the outermost one, by
 * steps that profc knows; 0: one of them is not known. `thread` may be NULL, which takes longer.
 */
uint64_t heap_sign(const struct heap_frame *frame, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
/*
 * The same by all words in so many bytes of the stack that a walk may come by; 0: it is not known
 * where code is.
 */
uint64_t heap_sign_words(const struct heap_frame *frame, struct heap_thread *thread,
			 uint64_t nr_bytes) __attribute__((visibility("hidden")));

/* Was a stack with this signature copied, or will it be, in a record that is in the ring? */
bool heap_is_met(uint64_t signature, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
void heap_note_met(uint64_t signature) __attribute__((visibility("hidden")));

#endif
