/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uint64_t heap_call(struct heap_frame *frame, uint64_t function, const uint64_t *stack): call it
 * as it was called, with HEAP_STACK_ARGUMENTS words of the caller's stack. If the result has two
 * words, the second goes to the frame, from which the stub restores x1.
 */
	.text
	.globl heap_call
	.hidden heap_call
heap_call:
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	str	x0, [sp, #16]
	sub	sp, sp, #128
	mov	x16, x1
	mov	x17, x0
	mov	x3, sp
	mov	w4, #8
1:	ldp	x5, x6, [x2], #16
	stp	x5, x6, [x3], #16
	subs	w4, w4, #1
	b.ne	1b
	ldr	x6, [x17, #24]
	ldp	x7, x8, [x17, #32]
	ldp	x9, x10, [x17, #48]
	ldp	x11, x12, [x17, #64]
	ldp	x13, x14, [x17, #80]
	ldr	x15, [x17, #96]
	ldp	x0, x1, [x17, #128]
	ldp	x2, x3, [x17, #144]
	ldp	x4, x5, [x17, #160]
	blr	x16
	mov	sp, x29
	ldr	x17, [sp, #16]
	str	x1, [x17, #136]
	ldp	x29, x30, [sp], #32
	ret
	.section .note.GNU-stack, "", @progbits
