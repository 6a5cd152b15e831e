// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resembles_signal_frame: waits until its standard input is closed, with numbers on its stack like
 * those that the kernel writes there for a handler on an alternate stack, but of no stack.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#include "self_measure.h"

static volatile uint64_t sum;

NOINLINE void counted(uint64_t x)
{
	for (unsigned i = 0; i < 10; i++)
		SPIN_STEP(x);
	sum += x;
}

int main(void)
{
	/* Flags, the next context, the stack's start, its flags, its size. */
	volatile uint64_t words[] = {7, 0, UINT64_MAX - 3, 0, 0};
	struct pollfd input = {.fd = 0, .events = POLLIN};

	words[4] = (uintptr_t)words;
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 10) == 0)
		counted(words[4]);
	return 0;
}
