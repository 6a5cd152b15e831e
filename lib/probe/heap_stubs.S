/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the generated code jumps to: the stack is as at the entry of the function, in r10d is the
 * word for the hook, and in rax what the countdown was. What it pushes is struct heap_frame. It is
 * the first thing in the blob.
 */
	.section .text.stub, "ax"
	.globl heap_stub
heap_stub:
	push	%rbp
	mov	%rsp, %rbp
	push	%r15
	push	%r14
	push	%r13
	push	%r12
	push	%rbx
	push	%r9
	push	%r8
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	mov	%r10d, %esi
	mov	%rax, %rdx
	mov	$0x70f1c0de0f5a6e51, %r10	/* HEAP_MARKER_KEY */
	lea	-8(%rsp), %r11
	xor	%r11, %r10
	push	%r10
	mov	%rsp, %rdi
	call	heap_slow
	mov	%rdx, %r11
	movq	$0, (%rsp)			/* what is left on the stack must not look like a marker */
	lea	8(%rsp), %rsp
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%r8
	pop	%r9
	pop	%rbx
	pop	%r12
	pop	%r13
	pop	%r14
	pop	%r15
	pop	%rbp
	test	%r11, %r11
	jz	1f
	jmp	*%r11
1:	ret
	.section .note.GNU-stack, "", @progbits
