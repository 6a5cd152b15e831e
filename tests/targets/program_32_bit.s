# SPDX-License-Identifier: GPL-2.0-or-later
# A 32-bit program: says "ready", spins for some 300 ms, and exits with status 7.
# as --32, ld -m elf_i386
	.globl	_start
	.type	_start, @function
_start:
	movl	$4, %eax		# write(1, ready, 6)
	movl	$1, %ebx
	movl	$ready, %ecx
	movl	$6, %edx
	int	$0x80
	movl	$900000000, %ecx
spin:
	decl	%ecx
	jnz	spin
	movl	$1, %eax		# exit(7)
	movl	$7, %ebx
	int	$0x80
	.size	_start, . - _start
ready:
	.ascii	"ready\n"
