// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * coroutines [CPU_MS]: makecontext() and swapcontext(). Three parts of four of the time are spent
 * in coroutine_work() on stacks of two coroutines, the fourth in main_work().
 */
#include <ucontext.h>

#include "self_measure.h"

#define STACK_BYTES 65536

static ucontext_t main_context, contexts[2];
static uint64_t stacks[2][STACK_BYTES / sizeof(uint64_t)];
static uint64_t limit_ns;
static volatile uint64_t result;

NOINLINE uint64_t spin(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t coroutine_work(uint64_t x)
{
	return spin(x, 300000) + 1;
}

NOINLINE uint64_t main_work(uint64_t x)
{
	return spin(x, 200000) + 1;
}

static void coroutine(int nr)
{
	for (;;) {
		result = coroutine_work(result + (uint64_t)nr);
		swapcontext(&contexts[nr], &main_context);
	}
}

int main(int argc, char **argv)
{
	uint64_t x = 1;

	limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;
	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	while (thread_cpu_ns() < limit_ns) {
		for (int i = 0; i < 2; i++)
			swapcontext(&main_context, &contexts[i]);
		x = main_work(x);
	}
	printf("{\"x\": %llu}\n", (unsigned long long)x);
	return 0;
}
