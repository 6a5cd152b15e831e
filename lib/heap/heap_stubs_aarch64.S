/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generated code jumps here. All is as at the entry of the function, but x16, with the word for
 * the hook; the flags; and, if it has counted, x13 to x15 and x17, with the slot, x14 having the
 * result. The stores make struct heap_frame. This must follow the rules directly.
 */
	.section .text.stub, "ax"
	.globl heap_stub
heap_stub:
	tbz	w16, #12, 1f			/* HEAP_STUB_SIGNED_A */
	hint	#29				/* autiasp */
1:	tbz	w16, #13, 2f			/* HEAP_STUB_SIGNED_B */
	hint	#31				/* autibsp */
2:	sub	sp, sp, #272
	stp	x29, x30, [sp, #256]
	stp	x17, x6, [sp, #16]
	stp	x7, x8, [sp, #32]
	stp	x9, x10, [sp, #48]
	stp	x11, x12, [sp, #64]
	stp	x13, x14, [sp, #80]
	stp	x15, x16, [sp, #96]
	stp	x18, xzr, [sp, #112]
	stp	x0, x1, [sp, #128]
	stp	x2, x3, [sp, #144]
	stp	x4, x5, [sp, #160]
	stp	x19, x20, [sp, #176]
	stp	x21, x22, [sp, #192]
	stp	x23, x24, [sp, #208]
	stp	x25, x26, [sp, #224]
	stp	x27, x28, [sp, #240]
	add	x29, sp, #256
	mov	x0, sp
	and	w1, w16, #0xfff
	mov	x2, x14
	movz	x4, #0x6e51			/* HEAP_MARKER_KEY */
	movk	x4, #0x0f5a, lsl #16
	movk	x4, #0xc0de, lsl #32
	movk	x4, #0x70f1, lsl #48
	eor	x4, x4, x0
	stp	x4, xzr, [sp]
	bl	heap_slow
	mov	x16, x1
	cbnz	x1, 3f
	str	x0, [sp, #128]
3:	str	xzr, [sp]			/* leave no marker on the stack */
	ldp	x17, x6, [sp, #16]
	ldp	x7, x8, [sp, #32]
	ldp	x9, x10, [sp, #48]
	ldp	x11, x12, [sp, #64]
	ldp	x13, x14, [sp, #80]
	ldr	x15, [sp, #96]
	ldp	x0, x1, [sp, #128]
	ldp	x2, x3, [sp, #144]
	ldp	x4, x5, [sp, #160]
	ldp	x29, x30, [sp, #256]
	add	sp, sp, #272
	cbz	x16, 4f
	br	x16
4:	ret

	.section .note.GNU-stack, "", @progbits
