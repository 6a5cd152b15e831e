// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * body_cfi_only [CPU_MS]: a function whose CFI is right in its body and wrong in its epilogue, as
 * of compilers that think of exceptions alone (Mono). It spends its time in the epilogue.
 */
#include "self_measure.h"

void body_described(void);

#if defined(__x86_64__)
__asm__(".globl body_described\n"
	".type body_described, @function\n"
	"body_described:\n"
	"	.cfi_startproc\n"
	"	sub $40, %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"	movq $6, (%rsp)\n"
	"	movq $6, 32(%rsp)\n"
	"	add $40, %rsp\n"
	"	mov $20000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size body_described, . - body_described\n");
#else
void body_described(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}
#endif

int main(int argc, char **argv)
{
	uint64_t limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;
	volatile uint64_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	while (thread_cpu_ns() < limit_ns)
		body_described();
	printf("{\"data\": %llu}\n", (unsigned long long)data[3]);
	return 0;
}
