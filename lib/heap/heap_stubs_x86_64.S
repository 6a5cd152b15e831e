/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generated code jumps here. All is as at the entry of the function, but the flags and, if it
 * has counted, rax, r10 and r11. The word for the hook is below the stack pointer. The pushes make
 * struct heap_frame. This must follow the rules directly.
 */
	.section .text.stub, "ax"
	.globl heap_stub
heap_stub:
	push	%rbp
	mov	%rsp, %rbp
	push	%r15
	mov	-8(%rsp), %r15d			/* STUB_WORD_BELOW, less what was pushed */
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
	push	%rax
	push	%r10
	push	%r11
	push	$0
	mov	%r15d, %esi
	mov	%rax, %rdx
	mov	$0x70f1c0de0f5a6e51, %r10	/* HEAP_MARKER_KEY */
	lea	-8(%rsp), %r11
	xor	%r11, %r10
	push	%r10
	mov	%rsp, %rdi
	call	heap_slow
	mov	%rdx, 8(%rsp)
	test	%rdx, %rdx			/* the flags live up to the jz */
	jnz	1f
	mov	%rax, 32(%rsp)
1:	movq	$0, (%rsp)			/* leave no marker on the stack */
	lea	16(%rsp), %rsp
	pop	%r11
	pop	%r10
	pop	%rax
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
	jz	2f
	jmp	*-128(%rsp)			/* `jump`, in the red zone: signals leave it alone */
2:	ret

	.section .note.GNU-stack, "", @progbits
