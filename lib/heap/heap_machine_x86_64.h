/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that the blob and the reader of its ring know of x86-64, beside heap_*_x86_64.S. */
#ifndef PROFC_HEAP_HEAP_MACHINE_X86_64_H
#define PROFC_HEAP_HEAP_MACHINE_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

struct heap_shared;

/* Registers that a call may change, beside arguments: r11, r10 and rax, which has the result. */
#define HEAP_SCRATCH	  3
#define HEAP_SCRATCH_SLOT 0
/* Registers that a call keeps, beside the stack and frame pointers: rbx, r12 to r15. */
#define HEAP_KEPT 5
#define HEAP_KEPT_COLUMNS                                                                          \
	{                                                                                          \
		3, 12, 13, 14, 15                                                                  \
	} /* their DWARF numbers */

/* struct heap_frame, which files in assembly know. */
#define HEAP_FRAME_BYTES	144
#define HEAP_FRAME_ARGUMENTS_AT 40

/* Where a thread's data lie about their address, */
#define HEAP_DATA_BELOW_BYTES 0
#define HEAP_DATA_ABOVE_BYTES 2048
/* and where musl and glibc keep the thread's id in them. */
#define HEAP_ID_AT_MUSL	 0x30
#define HEAP_ID_AT_GLIBC 0x2d0
/* glibc: the address of the table of a thread's blocks of thread-locals */
#define HEAP_TABLE_AT 8

/* A thread with records less than this apart asks the clock for each HEAP_STRIDE-th only. */
#define HEAP_DENSE_TIME 1024

/* A word of a stack that is an address of code, without what is no part of the address. */
static inline uint64_t machine_plain(uint64_t word)
{
	return word;
}

/* Does the processor's clock run evenly, whatever its speed? (invariant TSC) */
static inline bool machine_has_clock(void)
{
	unsigned int a, b, c, d;

	__cpuid(0x80000007, a, b, c, d); /* which all of x86-64 have */
	return d & 1 << 8;
}

static inline uint64_t machine_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* In a loop that waits for another thread. */
static inline void machine_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

/* The cache line will be written soon. It never faults. Processors without it do nothing. */
static inline void machine_fetch_to_write(const void *address)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
}

/* Without a call, and without vector registers. */
static inline void machine_copy(void *to, const void *from, uint64_t nr_bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(nr_bytes) : : "memory");
}

/* A branch and its code reach both: the memory is always before the code. */
static inline struct heap_shared *machine_shared(struct heap_shared *before, uint64_t address)
{
	(void)address;
	return before;
}

/* In one instruction, which no signal handler can interrupt. */
static inline void machine_add_here(int64_t *word, int64_t value)
{
	__asm__ volatile("addq %1,%0" : "+m"(*word) : "er"(value) : "cc");
}

/* The address of the data of the calling thread: the word at its start, as the ABI has it, */
static inline uint64_t machine_thread_word(void)
{
	uint64_t thread;

	__asm__("mov %%fs:0,%0" : "=r"(thread));
	return thread;
}

/* or the register itself. */
static inline uint64_t machine_thread_register(void)
{
	uint64_t thread;

	__asm__("rdfsbase %0" : "=r"(thread));
	return thread;
}

#endif
