// SPDX-License-Identifier: GPL-2.0-or-later
/* Decoder for the PLT stubs of aarch64. */
#include "symbol/plt.h"

/*
 * `adrp x16, page; ldr x17, [x16, #offset]; …`, perhaps after `bti c` (ELF for
 * the Arm 64-bit Architecture, "Procedure Linkage Table").
 */
struct plt_stub plt_decode_aarch64(struct dwarf_bytes code, uint64_t address)
{
	const uint32_t bti_c = 0xd503245f;
	struct cursor cursor = dwarf_cursor_at(code, 0);
	struct plt_stub stub = {.kind = PLT_STUB_NONE};
	uint32_t adrp = cursor_u32(&cursor), ldr;
	uint64_t pages;

	if (adrp == bti_c) {
		adrp = cursor_u32(&cursor);
		address += sizeof(adrp);
	}
	ldr = cursor_u32(&cursor);
	if (cursor.failed || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return stub;
	/* 21 bits, signed: immhi in bits 5 to 23, immlo in 29 and 30. */
	pages = (uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
	if (pages & 1 << 20)
		pages |= ~UINT64_C(0) << 21;
	stub.kind = PLT_STUB_SLOT;
	stub.value = (address & ~UINT64_C(0xfff)) + (pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return stub;
}
