/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a program for -nostartfiles: that of the C library may lack the landing pads of aarch64. */
#if defined(__aarch64__)
	.section .note.GNU-stack, "", %progbits
	.section .note.gnu.property, "a"
	.balign 8
	.word 4, 16, 5
	.asciz "GNU"
	.word 0xc0000000, 4, 1, 0 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */

	.text
	.globl _start
	.type _start, %function
_start:
	hint #34 /* bti c */
	mov x29, #0
	mov x30, #0
	mov x5, x0
	ldr x1, [sp]
	add x2, sp, #8
	mov x6, sp
	adrp x0, main
	add x0, x0, :lo12:main
	mov x3, #0
	mov x4, #0
	bl __libc_start_main
	brk #0
	.size _start, . - _start
#endif
