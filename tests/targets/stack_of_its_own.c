// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack_of_its_own [CPU_MS]: main() goes over to a stack of 64 MiB before it does anything, as the
 * runtimes of some languages do. Its own frame stays where the program began.
 */
#include <sys/mman.h>

#include "self_measure.h"

#define STACK_BYTES ((size_t)64 << 20)

static uint64_t limit_ns;

NOINLINE uint64_t work_elsewhere(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		SPIN_STEP(x);
	return x;
}

void all_work(void);

void all_work(void)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < limit_ns)
		x = work_elsewhere(x);
	printf("{\"x\": %llu}\n", (unsigned long long)x);
}

void call_on_stack(void *end);

#if defined(__x86_64__)
__asm__(".globl call_on_stack\n"
	".type call_on_stack, @function\n"
	"call_on_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rsp\n"
	"	call all_work\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_on_stack, . - call_on_stack\n");
#else
void call_on_stack(void *end)
{
	(void)end;
	all_work();
}
#endif

int main(int argc, char **argv)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;
	if (stack == MAP_FAILED)
		return 1;
	call_on_stack(stack + STACK_BYTES / 2);
	return 0;
}
