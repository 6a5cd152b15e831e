// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit_in_frame [CPU_MS [STACK]]: code made at run time that works in the frame of who jumped to it,
 * as PHP's and QEMU's does. In that frame an old return address still stands, and one that another
 * such code was once called from. With STACK it leaves even that frame: nobody can tell where it
 * came from. x86-64 only; elsewhere it works without such code.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "self_measure.h"

#if defined(__x86_64__)
/* mov $200000,%ecx; 1: dec %ecx; jnz 1b; jmp *%rsi */
static const unsigned char loop[] = "\xb9\x40\x0d\x03\x00\xff\xc9\x75\xfc\xff\xe6";

/* mov %rsp,%r8; mov %rdx,%rsp; the same; mov %r8,%rsp; jmp *%rsi */
static const unsigned char loop_elsewhere[] =
	"\x49\x89\xe0\x48\x89\xd4\xb9\x40\x0d\x03\x00\xff\xc9\x75\xfc\x4c\x89\xc4\xff\xe6";

void enter_code(void *code, void *old_return_address, void *stack);

__asm__(".globl enter_code\n"
	".type enter_code, @function\n"
	"enter_code:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $1040, %rsp\n"
	"	.cfi_adjust_cfa_offset 1040\n"
	"	mov %rsi, 64(%rsp)\n"
	"	mov %rdi, 72(%rsp)\n"
	"	lea 1f(%rip), %rsi\n"
	"	jmp *%rdi\n"
	"1:	add $1040, %rsp\n"
	"	.cfi_adjust_cfa_offset -1040\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size enter_code, . - enter_code\n");

/* The address behind a call in here. */
NOINLINE void *return_address(void)
{
	return __builtin_return_address(0);
}

NOINLINE void *has_returned_long_ago(void)
{
	void *address = return_address();

	__asm__ volatile("" : "+r"(address));
	return address;
}

static void *make_code(bool elsewhere)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	if (elsewhere)
		memcpy(code, loop_elsewhere, sizeof(loop_elsewhere));
	else
		memcpy(code, loop, sizeof(loop));
	return code;
}
#else
static void enter_code(void *code, void *old_return_address, void *stack)
{
	(void)stack;
	(void)code;
	(void)old_return_address;
	for (volatile int i = 0; i < 100000; i++)
		;
}

static void *has_returned_long_ago(void)
{
	return NULL;
}

static void *make_code(bool elsewhere)
{
	(void)elsewhere;
	return NULL;
}
#endif

NOINLINE void enters_all_the_time(uint64_t limit_ns, bool elsewhere)
{
	static uint64_t stack[64];
	void *code = make_code(elsewhere);

	while (thread_cpu_ns() < limit_ns)
		enter_code(code, has_returned_long_ago(), stack + 32);
}

int main(int argc, char **argv)
{
	enters_all_the_time((argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS, argc > 2);
	printf("{}\n");
	return 0;
}
