/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter without CFI that dispatches by a table, and keeps its accumulator in rbp: 0. */
	.text
	.globl interpret
	.type interpret, @function
interpret:
	push %rbp
	push %r12
	push %rbx
	xor %ebp, %ebp
	mov %edi, %r12d
	lea operations(%rip), %rbx
	jmp *8(%rbx)
op_end:
	pop %rbx
	pop %r12
	pop %rbp
	ret
op_call:
	mov %r12d, %edi
	call op_work
	jmp *(%rbx)
	.size interpret, . - interpret

	.section .data.rel.ro, "aw"
	.balign 8
operations:
	.quad op_end, op_call
	.section .note.GNU-stack, "", @progbits
