/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks have signatures, by which the blob knows them again without a copy. */
#ifndef PROFC_HEAP_HEAP_WALK_BLOB_H
#define PROFC_HEAP_HEAP_WALK_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_shared.h"

/* The linker script puts these in front of the code. */
extern struct heap_shared shared_before __attribute__((visibility("hidden")));
extern const struct heap_rules rules __attribute__((visibility("hidden")));

#define shared (*machine_shared(&shared_before, rules.shared_address))

#define relaxed_load(word)	 __atomic_load_n(word, __ATOMIC_RELAXED)
#define relaxed_store(word, to)	 __atomic_store_n(word, to, __ATOMIC_RELAXED)
#define relaxed_add(word, value) __atomic_fetch_add(word, value, __ATOMIC_RELAXED)
#define exchange(word, was, to)                                                                    \
	__atomic_compare_exchange_n(word, was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

/*
 * heap_threads_blob.c. These make no system call: the program may have set a filter that kills it
 * for one.
 */

/* As heap_own_tid(), in any state. */
int64_t heap_find_own_tid(void) __attribute__((visibility("hidden")));
int64_t heap_learn_pid(void) __attribute__((visibility("hidden")));
/* The stack is readable from `sp` up to the result, and perhaps not beyond. */
uint64_t heap_readable_end(uint64_t sp, uint64_t *start) __attribute__((visibility("hidden")));
/* The range of writable memory that has `nr` bytes at the address. False: profc is asked for it. */
bool heap_find_writable(uint64_t address, uint64_t nr, struct heap_stack *range)
	__attribute__((visibility("hidden")));
/* Take note of writable memory that was just mapped, or forget what is about to be unmapped. */
void heap_note_mapped(uint64_t start, uint64_t nr) __attribute__((visibility("hidden")));
void heap_forget_mapped(uint64_t start, uint64_t nr) __attribute__((visibility("hidden")));
/* Are `nr` bytes at the address writable? `sp` is the thread's stack pointer. */
bool heap_is_writable(uint64_t address, uint64_t nr, uint64_t sp)
	__attribute__((visibility("hidden")));

static inline struct heap_all *heap_all(void)
{
	uint64_t address = (uint64_t)&shared;

	__asm__("" : "+r"(address)); /* hides from the compiler what is there */
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

/* A child of vfork(2) counts as its parent: it uses the same memory. */
static inline int64_t own_pid(void)
{
	int64_t pid = relaxed_load(&heap_own()->pid);

	return pid ? pid : heap_learn_pid();
}

/* The address of the thread's data; 0: not known. */
static inline uint64_t thread_data(void)
{
	if (rules.threads == HEAP_THREADS_BY_DATA)
		return machine_thread_word();
	return rules.threads == HEAP_THREADS_BY_BASE ? machine_thread_register() : 0;
}

static inline int32_t heap_id_at(uint64_t data, int32_t at)
{
	return relaxed_load((const int32_t *)(data + (uint64_t)(int64_t)at));
}

/* As the C library knows it; if it does not, the main thread's. */
static inline int64_t heap_own_tid(void)
{
	uint64_t data = thread_data();
	int32_t at = relaxed_load(&heap_known()->tid_at);
	int64_t tid = data && at ? heap_id_at(data, at) : 0;

	return tid > 0 ? tid : heap_find_own_tid();
}

/*
 * The signature of all return addresses, from the allocator's caller to the outermost frame. 0: a
 * step is missing. `thread` may be NULL, which takes longer.
 */
uint64_t heap_sign(const struct heap_frame *frame, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
/*
 * Most stacks: the same signature, if the thread has signed that stack lately and it was copied
 * before. 0: heap_sign() and heap_is_published() will tell.
 */
uint64_t heap_sign_again(const struct heap_frame *frame, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
/*
 * The signature of all words in nr_bytes of the stack that a walk may read. 0: the stack cannot be
 * read, or the places of code are not known.
 */
uint64_t heap_sign_words(const struct heap_frame *frame, struct heap_thread *thread,
			 uint64_t nr_bytes) __attribute__((visibility("hidden")));

/* Was a stack with this signature copied, or will it be, in a record that is in the ring? */
bool heap_is_published(uint64_t signature, struct heap_thread *thread)
	__attribute__((visibility("hidden")));
void heap_publish(uint64_t signature) __attribute__((visibility("hidden")));

#endif
