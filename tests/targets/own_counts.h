/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_OWN_COUNTS_H
#define PROFC_TESTS_OWN_COUNTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Programs that count the calls of their own functions, and print one JSON object for each:
 * {"function", "calls"}. A function counts itself, with OWN_CALL() in its body, or is counted by
 * those who call it.
 */

#ifdef __clang__
#define COUNTED __attribute__((noinline, used))
#else
#define COUNTED __attribute__((noipa, used))
#endif

/* Any thread, and signal handlers. */
#define OWN_CALL(counter) ((void)__atomic_fetch_add(&(counter), 1, __ATOMIC_RELAXED))

/*
 * Whether a function begins with a jump, perhaps behind its first instruction: none does by itself.
 * On x86-64 such a jump leads further than the program's own.
 */
static inline int is_probed(void (*function)(void))
{
	const volatile unsigned char *code = (const volatile unsigned char *)(uintptr_t)function;

#if defined(__aarch64__)
	return (code[3] & 0xfc) == 0x14 || (code[7] & 0xfc) == 0x14;
#else
	for (int i = 0; i < 12; i++) {
		int distance = (int)((unsigned)code[i + 1] | (unsigned)code[i + 2] << 8 |
				     (unsigned)code[i + 3] << 16 | (unsigned)code[i + 4] << 24);

		if (code[i] == 0xe9 && (distance > 1 << 20 || distance < -(1 << 20)))
			return 1;
	}
	return 0;
#endif
}

/* It ends, having said so, where that does not come about in 20 s. */
static inline void wait_for_probe(void (*function)(void), int is_wanted)
{
	const struct timespec pause = {0, 1000000};

	for (int i = 0; i < 20000; i++) {
		if (is_probed(function) == is_wanted)
			return;
		nanosleep(&pause, NULL);
	}
	fputs(is_wanted ? "is not counted\n" : "is still counted\n", stderr);
	exit(3);
}

static inline void say_own_count(const char *function, uint64_t calls)
{
	printf("{\"function\": \"%s\", \"calls\": %llu}\n", function, (unsigned long long)calls);
}

#endif
