/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions in assembly: one that others call, and one that only this file knows. */
	.file "assembly_loop.S"
	.text
	.type loop_inside, @function
loop_inside:
	mov $1000000, %eax
1:	dec %eax
	jnz 1b
	ret
	.size loop_inside, . - loop_inside

	.globl assembly_loop
	.type assembly_loop, @function
assembly_loop:
	call loop_inside
	mov $1000000, %eax
2:	dec %eax
	jnz 2b
	ret
	.size assembly_loop, . - assembly_loop
	.section .note.GNU-stack, "", @progbits
