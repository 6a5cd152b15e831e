/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interpreter whose CFI is in .debug_frame alone. After the call of an operation its code goes on
 * in another section of it; what follows in memory is a function that never returns, and a switch
 * of stacks, which nobody calls.
 */
	.cfi_sections .debug_frame
	.text
	.p2align 4
	.globl interpret
	.type interpret, @function
interpret:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	sub $32, %rsp
	.cfi_adjust_cfa_offset 32
	mov %edi, %ebx
	call op_work
	cmpl $0, is_corrupt(%rip)
	je interpret.rest
	mov %ebx, %edi
	call exit
	.cfi_endproc
	.size interpret, . - interpret

	.globl go_to_stack
	.type go_to_stack, @function
go_to_stack:
	.cfi_startproc
	push %rbx
	mov %rsp, (%rdi)
	mov (%rsi), %rsp
	pop %rbx
	ret
	.cfi_endproc
	.size go_to_stack, . - go_to_stack

	.type interpret.rest, @function
interpret.rest:
	.cfi_startproc
	.cfi_def_cfa_offset 48
	.cfi_offset %rbx, -16
	add $32, %rsp
	.cfi_def_cfa_offset 16
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size interpret.rest, . - interpret.rest

	.data
	.balign 4
is_corrupt:
	.long 0
	.section .note.GNU-stack, "", @progbits
