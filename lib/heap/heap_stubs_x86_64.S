/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct heap_rules, which profc fills in before it puts the code into a process. */
	.section .text.rules, "ax"
	.balign 64
	.globl rules
	.hidden rules
rules:
	.zero 4416

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
	mov	-8(%rsp), %r15d			/* HEAP_STUB_WORD_BELOW, less what was pushed */
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
