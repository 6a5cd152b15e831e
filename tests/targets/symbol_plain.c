// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * symbol_plain: functions with sizes, one in assembler without, and a gap that
 * belongs to none; the assembler code has no debug information.
 */
#include <stdio.h>
#include <stdlib.h>

__asm__(".pushsection .text\n"
	".balign 64\n"
	".globl asm_without_size\n"
	"asm_without_size:\n"
	"	nop\n"
	"	ret\n"
	".balign 64\n"
	".globl asm_with_size\n"
	".type asm_with_size, @function\n"
	"asm_with_size:\n"
	"	nop\n"
	"	ret\n"
	".size asm_with_size, .-asm_with_size\n"
	".zero 62, 0x90\n"
	".globl asm_last\n"
	".type asm_last, @function\n"
	"asm_last:\n"
	"	ret\n"
	".size asm_last, .-asm_last\n"
	".popsection\n");

__attribute__((noinline)) static int square(int value)
{
	return value * value + rand();
}

int main(void)
{
	printf("%d\n", square(rand()));
	return 0;
}
