/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that the blob and the reader of its ring know of aarch64, beside heap_*_aarch64.S. */
#ifndef PROFC_HEAP_HEAP_MACHINE_AARCH64_H
#define PROFC_HEAP_HEAP_MACHINE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

struct heap_shared;

/* Registers that a call may change, beside HEAP_ARGUMENTS: x17, x6 to x16, x18, and padding. */
#define HEAP_SCRATCH	  14
#define HEAP_SCRATCH_SLOT 0
/* x19 to x28. */
#define HEAP_KEPT 10
#define HEAP_KEPT_COLUMNS                                                                          \
	{                                                                                          \
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28                                             \
	}

/* struct heap_frame, which files in assembly know. */
#define HEAP_FRAME_BYTES	272
#define HEAP_FRAME_ARGUMENTS_AT 128

/*
 * Further flags of the word for the stub: the function has signed its return address, by the key A
 * or B, before its probe. The stub takes the signature away.
 */
#define HEAP_STUB_SIGNED_A (1 << 12)
#define HEAP_STUB_SIGNED_B (1 << 13)

/* The C libraries have a thread's data below the address in tpidr_el0, and thread-locals above. */
#define HEAP_DATA_BELOW_BYTES 2048
#define HEAP_DATA_ABOVE_BYTES 0
/* In musl 1.2, and in glibc 2.36, where 1856 bytes of a thread end at the address; in 2.41 1824. */
#define HEAP_ID_AT_MUSL	 (-168)
#define HEAP_ID_AT_GLIBC (-1648)
/* glibc: the address of the table of a thread's blocks of thread-locals */
#define HEAP_TABLE_AT 0

/* The clock has 25 MHz to 1 GHz. */
#define HEAP_DENSE_TIME 32

/* Return addresses may be signed, in the bits that no address of a program has. */
static inline uint64_t machine_plain(uint64_t word)
{
	return word & ((UINT64_C(1) << 48) - 1);
}

static inline bool machine_has_clock(void)
{
	return true;
}

static inline uint64_t machine_clock(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

/* In a loop that waits for another thread. `yield` does nothing on most processors. */
static inline void machine_pause(void)
{
	__asm__ volatile("isb" : : : "memory");
}

/* The cache line will be written soon. It never faults. */
static inline void machine_fetch_to_write(const void *address)
{
	__asm__ volatile("prfm pstl1keep, [%0]" : : "r"(address));
}

/* Without a call, and without vector registers. */
static inline void machine_copy(void *to, const void *from, uint64_t nr_bytes)
{
	uint64_t word;

	__asm__ volatile("b	2f\n"
			 "1:	ldr	%3, [%1], #8\n"
			 "	str	%3, [%0], #8\n"
			 "2:	subs	%2, %2, #8\n"
			 "	b.hs	1b\n"
			 "	adds	%2, %2, #8\n"
			 "	b.eq	4f\n"
			 "3:	ldrb	%w3, [%1], #1\n"
			 "	strb	%w3, [%0], #1\n"
			 "	subs	%2, %2, #1\n"
			 "	b.ne	3b\n"
			 "4:"
			 : "+r"(to), "+r"(from), "+r"(nr_bytes), "=&r"(word)
			 :
			 : "cc", "memory");
}

/* The memory may be after the code, near to which branches leave no room for it. */
static inline struct heap_shared *machine_shared(struct heap_shared *before, uint64_t address)
{
	(void)before;
	return (struct heap_shared *)address;
}

/* A signal handler that comes in between makes the store fail, and the addition begin again. */
static inline void machine_add_here(int64_t *word, int64_t value)
{
	__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

/* The address of the data of the calling thread. No word of theirs has it, so both are the same. */
static inline uint64_t machine_thread_register(void)
{
	uint64_t thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}

static inline uint64_t machine_thread_word(void)
{
	return machine_thread_register();
}

#endif
