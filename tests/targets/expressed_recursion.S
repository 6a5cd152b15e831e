/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expressed_recursion DEPTH: recurses so deep, then counts for some tenths of a second. Where the
 * caller of each frame is, the unwind information says by an expression, as no compiler does for
 * a frame like that.
 */
	.globl recurse, main
	.type recurse, @function
recurse:
	.cfi_startproc
	.cfi_escape 0x0f, 5, 0x77, 8, 0x30, 0x22, 0x96	/* CFA: rsp + 8 + 0, nop */
	test	%rdi, %rdi
	jz	1f
	sub	$8, %rsp
	.cfi_escape 0x0f, 5, 0x77, 16, 0x30, 0x22, 0x96
	dec	%rdi
	call	recurse
	add	$8, %rsp
	.cfi_escape 0x0f, 5, 0x77, 8, 0x30, 0x22, 0x96
	ret
1:	mov	$600000000, %rax
2:	dec	%rax
	jnz	2b
	ret
	.cfi_endproc
	.size recurse, . - recurse

	.type main, @function
main:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	mov	8(%rsi), %rdi
	call	atol@PLT
	mov	%rax, %rdi
	call	recurse
	xor	%eax, %eax
	add	$8, %rsp
	ret
	.cfi_endproc
	.size main, . - main

	.section .note.GNU-stack, "", @progbits
