// SPDX-License-Identifier: GPL-2.0-or-later
/* The other file of calls_of_all_kinds.c. Who calls the short functions counts their calls. */
#include <stdlib.h>

#include "calls_of_all_kinds.h"
#include "own_counts.h"

#define FUNCTION(name, code)                                                                       \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n" #name         \
		":\n" code "\n.size " #name ", . - " #name "\n.popsection\n")
#define ALIGN(fill) __asm__(".pushsection .text\n.p2align 5" fill "\n.popsection\n")

#if defined(__aarch64__)

ALIGN("");
FUNCTION(short_1_close, "ret");
FUNCTION(short_2_close, "nop; ret");
FUNCTION(short_3_close, "mov w0, #0; ret");
FUNCTION(short_4_close, "mov x1, x0; ret");
FUNCTION(short_5_close, "add x0, x0, #1; ret");
FUNCTION(short_6_close, "mov w0, #7; ret");
ALIGN("");
FUNCTION(short_1, "ret");
ALIGN("");
FUNCTION(short_2, "nop; ret");
ALIGN("");
FUNCTION(short_3, "mov w0, #0; ret");
ALIGN("");
FUNCTION(short_4, "mov x1, x0; ret");
ALIGN("");
FUNCTION(short_jump, "b short_4");
ALIGN("");
FUNCTION(loops_to_entry, "subs w0, w0, #1; b.ne loops_to_entry; nop; nop; ret");
ALIGN("");
FUNCTION(loops_to_second,
	 "mov w1, #0; 1: add w1, w1, #1; subs w0, w0, #1; b.ne 1b; mov w0, w1; ret");
ALIGN("");
FUNCTION(loops_far_to_second, "mov w1, #0; 1: add w1, w1, #1; .rept 50; nop; .endr; "
			      "subs w0, w0, #1; b.ne 1b; mov w0, w1; ret");
ALIGN("");
FUNCTION(begins_with_its_place, "adr x0, begins_with_its_place; ret");
ALIGN("");
FUNCTION(begins_with_call, "stp x29, x30, [sp, #-16]!; bl short_4; ldp x29, x30, [sp], #16; ret");
ALIGN("");
FUNCTION(begins_with_branch, "cbz w0, 1f; mov w0, #1; ret; 1: mov w0, #0; ret");
ALIGN("");
FUNCTION(falls_into_next, "nop; nop; nop; nop; nop; nop");
FUNCTION(fallen_into, "mov x1, x0; nop; nop; ret");
ALIGN("");

#else

/* Nothing between them, so that five bytes are in the next. */
ALIGN(", 0x90");
FUNCTION(short_1_close, "ret");
FUNCTION(short_2_close, "nop; ret");
FUNCTION(short_3_close, "xor %eax, %eax; ret");
FUNCTION(short_4_close, "mov %rdi, %rax; ret");
FUNCTION(short_5_close, "lea 1(%rdi), %rax; ret");
FUNCTION(short_6_close, "mov $7, %eax; ret");
/* With padding behind each. */
ALIGN(", 0xcc");
FUNCTION(short_1, "ret");
ALIGN(", 0xcc");
FUNCTION(short_2, "nop; ret");
ALIGN(", 0x90");
FUNCTION(short_3, "xor %eax, %eax; ret");
ALIGN(", 0x90");
FUNCTION(short_4, "mov %rdi, %rax; ret");
ALIGN(", 0xcc");
FUNCTION(short_jump, "jmp short_4");
ALIGN(", 0x90");
/* One call however often they loop: to their entry, and to their second instruction. */
FUNCTION(loops_to_entry, "dec %edi; jnz loops_to_entry; nop; nop; ret");
ALIGN(", 0x90");
FUNCTION(loops_to_second, "xor %eax, %eax; 1: inc %eax; dec %edi; jnz 1b; ret");
ALIGN(", 0x90");
FUNCTION(loops_far_to_second,
	 "xor %eax, %eax; 1: inc %eax; .skip 200, 0x90; dec %edi; jnz 1b; ret");
ALIGN(", 0x90");
/* Its first instructions say where they are. */
FUNCTION(begins_with_its_place, "lea begins_with_its_place(%rip), %rax; ret");
ALIGN(", 0x90");
FUNCTION(begins_with_call, "push %rbx; call short_4; pop %rbx; ret");
ALIGN(", 0x90");
FUNCTION(begins_with_branch, "test %edi, %edi; jz 1f; mov $1, %eax; ret; 1: xor %eax, %eax; ret");
ALIGN(", 0x90");
/* Ends in the next function, without a jump. */
FUNCTION(falls_into_next, "nop; nop; nop; nop; nop; nop");
FUNCTION(fallen_into, "mov %rdi, %rax; nop; nop; ret");
ALIGN(", 0x90");

#endif

typedef long function(long);

function short_1, short_2, short_3, short_4, short_jump, loops_to_entry, loops_to_second,
	loops_far_to_second, begins_with_its_place, begins_with_call, begins_with_branch,
	falls_into_next, fallen_into, short_1_close, short_2_close, short_3_close, short_4_close,
	short_5_close, short_6_close;

COUNTED static void kind_same_name(void)
{
	OWN_CALL(same_calls);
}

void call_same_name_elsewhere(void)
{
	for (int i = 0; i < 29; i++)
		kind_same_name();
}

static void check(long value, long expected)
{
	if (value != expected)
		abort();
}

static void call_times(function *called, const char *name, unsigned times, long argument)
{
	for (unsigned i = 0; i < times; i++)
		called(argument);
	say_own_count(name, times);
}

static void check_results(void)
{
	check(short_3(5) & 0xffffffff, 0);
	check(short_5_close(5), 6);
	check(short_6_close(5), 7);
	check(short_jump(5), 5); /* calls short_4 */
	check(loops_to_second(9), 9);
	check(loops_far_to_second(9), 9);
	check(begins_with_its_place(1), (long)begins_with_its_place);
	check(begins_with_call(3), 3); /* calls short_4 */
	check(begins_with_branch(0), 0);
	check(begins_with_branch(1), 1);
	check(falls_into_next(4), 4); /* fallen_into */
}

#define CALL(name, times) call_times(name, #name, times, 7)

void call_short_functions(void)
{
	CALL(short_1_close, 3);
	CALL(short_2_close, 5);
	CALL(short_3_close, 7);
	CALL(short_4_close, 9);
	for (int i = 0; i < 11; i++)
		check(short_5_close(i), i + 1);
	check_results();
	say_own_count("short_5_close", 12);
	for (int i = 0; i < 13; i++)
		check(short_6_close(i), 7);
	say_own_count("short_6_close", 14);
	CALL(short_1, 101);
	CALL(short_2, 102);
	for (int i = 0; i < 103; i++)
		short_3(i);
	say_own_count("short_3", 104);
	for (int i = 0; i < 104; i++)
		check(short_4(i), i);
	for (int i = 0; i < 105; i++)
		check(short_jump(i), i);
	say_own_count("short_jump", 106);
	for (int i = 1; i < 40; i++)
		loops_to_entry(i);
	say_own_count("loops_to_entry", 39);
	for (int i = 1; i < 40; i++)
		check(loops_to_second(i), i);
	say_own_count("loops_to_second", 40);
	for (int i = 1; i < 40; i++)
		check(loops_far_to_second(i), i);
	say_own_count("loops_far_to_second", 40);
	for (int i = 0; i < 41; i++)
		check(begins_with_its_place(i), (long)begins_with_its_place);
	say_own_count("begins_with_its_place", 42);
	for (int i = 0; i < 43; i++)
		check(begins_with_call(i), i);
	say_own_count("begins_with_call", 44);
	say_own_count("short_4", 104 + 106 + 44);
	for (int i = 0; i < 45; i++)
		check(begins_with_branch(i), i != 0);
	say_own_count("begins_with_branch", 47);
	for (int i = 0; i < 5; i++)
		check(fallen_into(i), i);
	for (int i = 0; i < 6; i++)
		check(falls_into_next(i), i);
	say_own_count("falls_into_next", 7);
}
