/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks, as our code in a process tells them apart without a copy. */
#ifndef PROFC_HEAP_HEAP_WALK_BLOB_H
#define PROFC_HEAP_HEAP_WALK_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_shared.h"

/* In front of this code, in the process, where the linker script has it. */
extern struct heap_shared shared __attribute__((visibility("hidden")));
extern const struct heap_rules rules __attribute__((visibility("hidden")));

#define relaxed_load(word)	 __atomic_load_n(word, __ATOMIC_RELAXED)
#define relaxed_store(word, to)	 __atomic_store_n(word, to, __ATOMIC_RELAXED)
#define relaxed_add(word, value) __atomic_fetch_add(word, value, __ATOMIC_RELAXED)
#define exchange(word, was, to)                                                                    \
	__atomic_compare_exchange_n(word, was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

/*
 * heap_threads_blob.c. None of these makes a system call: a filter that the program has put on
 * those since may kill it for that.
 */

/* As the C library knows it; the main thread's where it does not. */
int64_t heap_own_tid(void) __attribute__((visibility("hidden")));
int64_t heap_learn_pid(void) __attribute__((visibility("hidden")));
/* The stack from `sp` on can be read up to there, and beyond perhaps not. */
uint64_t heap_readable_end(uint64_t sp, uint64_t *start) __attribute__((visibility("hidden")));
/* Is memory there that can be written to? `sp`: of the own stack. */
bool heap_is_writable(uint64_t address, uint64_t nr, uint64_t sp)
	__attribute__((visibility("hidden")));

static inline struct heap_all *heap_all(void)
{
	uint64_t address = (uint64_t)&shared;

	__asm__("" : "+r"(address)); /* what is there is none of the compiler's business */
	return (struct heap_all *)address - 1;
}

static inline struct heap_private *heap_own(void)
{
	return (struct heap_private *)rules.private_address;
}

static inline struct heap_known *heap_known(void)
{
	return &heap_own()->known;
}

/* A child of vfork(2) is taken for who has the memory. */
static inline int64_t own_pid(void)
{
	int64_t pid = relaxed_load(&heap_own()->pid);

	return pid ? pid : heap_learn_pid();
}

/* Where its data are; 0: not known. */
static inline uint64_t thread_data(void)
{
	uint64_t thread = 0;

	if (rules.threads == HEAP_THREADS_BY_DATA)
		__asm__("mov %%fs:0,%0" : "=r"(thread));
	else if (rules.threads == HEAP_THREADS_BY_BASE)
		__asm__("rdfsbase %0" : "=r"(thread));
	return thread;
}

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
bool heap_is_published(uint64_t signature, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
void heap_publish(uint64_t signature) __attribute__((visibility("hidden")));

#endif
