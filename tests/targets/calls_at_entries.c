// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * argv[1] times: from_here(), then to_here(), each of which calls called() among its first bytes.
 * Prints {"calls"}.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__asm__(".text\n"
	".globl from_here, to_here\n"
	".type from_here, @function\n"
	".p2align 4\n"
	"from_here:\n\t"
	"subq $8, %rsp\n\t"
	"call called\n\t"
	"addq $8, %rsp\n\t"
	"ret\n"
	".size from_here, . - from_here\n\t"
	".type to_here, @function\n"
	".p2align 4\n"
	"to_here:\n\t"
	"subq $8, %rsp\n\t"
	"call called\n\t"
	"addq $8, %rsp\n\t"
	"ret\n"
	".size to_here, . - to_here\n");

void from_here(void), to_here(void);

static uint64_t nr_calls;

__attribute__((noinline, noclone, used)) void called(void)
{
	nr_calls++;
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 1000; i > 0; i--) {
		from_here();
		to_here();
	}
	printf("{\"calls\": %llu}\n", (unsigned long long)nr_calls);
	return 0;
}
