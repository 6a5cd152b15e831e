// SPDX-License-Identifier: GPL-2.0-or-later
/* Works on a stack of its own that makecontext(3) made, which returns to __start_context. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t main_context, own_context;
static volatile uint64_t sum;

__attribute__((noinline)) static void work(void)
{
	for (uint64_t i = 0; i < 400000000; i++)
		sum += i * i;
}

static void body(void)
{
	work();
	sum++; /* no tail call */
}

int main(void)
{
	size_t nr_bytes = 256 * 1024;

	getcontext(&own_context);
	own_context.uc_stack.ss_sp = malloc(nr_bytes);
	own_context.uc_stack.ss_size = nr_bytes;
	own_context.uc_link = &main_context;
	makecontext(&own_context, body, 0);
	swapcontext(&main_context, &own_context);
	printf("{\"sum\": %llu}\n", (unsigned long long)sum);
	return 0;
}
