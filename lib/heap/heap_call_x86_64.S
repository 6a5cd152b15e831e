/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uint64_t heap_call(struct heap_frame *frame, uint64_t function, const uint64_t *stack): call it
 * as it was called, with HEAP_STACK_ARGUMENTS words of the caller's stack. If the result has two
 * words, the second goes to the frame, from which the stub restores rdx.
 */
	.text
	.globl heap_call
	.hidden heap_call
heap_call:
	push	%rbp
	mov	%rsp, %rbp
	push	%rdi
	push	%rsi
	sub	$128, %rsp
	mov	%rdi, %r11
	mov	%rdx, %rsi
	mov	%rsp, %rdi
	mov	$16, %ecx
	rep movsq
	mov	40(%r11), %rdi
	mov	48(%r11), %rsi
	mov	56(%r11), %rdx
	mov	64(%r11), %rcx
	mov	72(%r11), %r8
	mov	80(%r11), %r9
	mov	32(%r11), %rax
	mov	24(%r11), %r10
	mov	16(%r11), %r11
	call	*-16(%rbp)
	mov	-8(%rbp), %r11
	mov	%rdx, 56(%r11)
	leave
	ret
	.section .note.GNU-stack, "", @progbits
