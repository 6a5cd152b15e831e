// SPDX-License-Identifier: GPL-2.0-or-later
/* Decoder for the PLT stubs of x86-64. */
#include "symbol/plt.h"

/*
 * Stubs are `jmp *slot(%rip)`, perhaps after endbr64 and with a bnd prefix; the
 * lazy half of tables with IBT is `push $index; jmp plt0` instead (psABI for
 * x86-64, "Procedure Linkage Table").
 */
struct plt_stub plt_decode_x86_64(struct dwarf_bytes code, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct cursor cursor = dwarf_cursor_at(code, 0);
	struct plt_stub stub = {.kind = PLT_STUB_NONE};
	uint8_t opcode;

	if (code.nr >= sizeof(endbr64) && memcmp(code.at, endbr64, sizeof(endbr64)) == 0)
		cursor_skip(&cursor, sizeof(endbr64));
	opcode = cursor_byte(&cursor);
	if (opcode == 0xf2)
		opcode = cursor_byte(&cursor);
	if (opcode == 0xff && cursor_byte(&cursor) == 0x25) {
		int32_t displacement = (int32_t)cursor_u32(&cursor);

		stub.kind = PLT_STUB_SLOT;
		stub.value = address + (uint64_t)(cursor.at - code.at) + (uint64_t)displacement;
	} else if (opcode == 0x68) {
		stub.kind = PLT_STUB_INDEX;
		stub.value = cursor_u32(&cursor);
	}
	if (cursor.failed)
		stub.kind = PLT_STUB_NONE;
	return stub;
}
