// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_to_nowhere ADDRESS: calls what is no code (0, a null pointer, or any other address)
 * 100 times, and works in the handler of the signal that comes of it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf before;
static volatile uint64_t sum;

__attribute__((noinline)) static void work_in_handler(void)
{
	for (uint64_t i = 0; i < 4000000; i++)
		sum += i * i;
}

static void on_fault(int number)
{
	(void)number;
	work_in_handler();
	siglongjmp(before, 1);
}

__attribute__((noinline)) static void call_nowhere(void (*function)(void))
{
	function();
	sum++; /* no tail call */
}

int main(int argc, char **argv)
{
	uintptr_t address = argc > 1 ? (uintptr_t)strtoull(argv[1], NULL, 0) : 0;

	signal(SIGSEGV, on_fault);
	for (int i = 0; i < 100; i++) {
		if (!sigsetjmp(before, 1))
			call_nowhere((void (*)(void))address);
	}
	printf("{\"sum\": %llu}\n", (unsigned long long)sum);
	return 0;
}
