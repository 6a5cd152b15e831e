/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interpreter without CFI, as V8's entry trampoline: it keeps a frame pointer, and pushes as many
 * registers of its own as the function has: at first none, later five.
 */
	.text
	.globl interpret
	.type interpret, @function
interpret:
	push %rbp
	mov %rsp, %rbp
	push %r12
	push %r13
	mov %esi, %r12d
	xor %eax, %eax
	test %r12d, %r12d
	jle 2f
1:	push %rax
	dec %r12d
	jnz 1b
2:	call op_work
	xor %ecx, %ecx
	mov -16(%rbp), %r13
	mov -8(%rbp), %r12
	leave
	pop %rdx
	lea (%rsp, %rcx, 8), %rsp
	push %rdx
	ret
	.size interpret, . - interpret
	.section .note.GNU-stack, "", @progbits
