// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "symbol/plt.h"
#include "tests/unit/unit.h"

#define BYTES(array) ((struct dwarf_bytes){.at = array, .nr = sizeof(array)})

static void assert_slot(struct plt_stub stub, uint64_t slot)
{
	assert_int_equal(stub.kind, PLT_STUB_SLOT);
	assert_int_equal(stub.value, slot);
}

TEST(symbol_plt, x86_64_plain)
{
	/* jmp *0x2fca(%rip); push $2; jmp plt0 */
	static const uint8_t code[] = {0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68, 2,
				       0,    0,	   0,	 0xe9, 0, 0, 0,	   0};

	assert_slot(plt_decode_x86_64(BYTES(code), 0x1030), 0x4000);
}

TEST(symbol_plt, x86_64_with_ibt)
{
	/* endbr64; bnd jmp *0x2f75(%rip) */
	static const uint8_t second[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff,
					 0x25, 0x75, 0x2f, 0,	 0};
	/* endbr64; push $3; bnd jmp plt0 */
	static const uint8_t first[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3, 0, 0, 0, 0xf2, 0xe9};
	struct plt_stub stub;

	assert_slot(plt_decode_x86_64(BYTES(second), 0x1050), 0x3fd0);
	stub = plt_decode_x86_64(BYTES(first), 0x1020);
	assert_int_equal(stub.kind, PLT_STUB_INDEX);
	assert_int_equal(stub.value, 3);
}

TEST(symbol_plt, aarch64)
{
	/* adrp x16, +0x1f pages; ldr x17, [x16, #0xfb8]; add; br */
	static const uint8_t code[] = {0xf0, 0x00, 0x00, 0xf0, 0x11, 0xde, 0x47, 0xf9};
	/* bti c before it */
	static const uint8_t with_bti[] = {0x5f, 0x24, 0x03, 0xd5, 0xf0, 0x00,
					   0x00, 0xf0, 0x11, 0xde, 0x47, 0xf9};

	assert_slot(plt_decode_aarch64(BYTES(code), 0x600), 0x1ffb8);
	assert_slot(plt_decode_aarch64(BYTES(with_bti), 0x600), 0x1ffb8);
}

TEST(symbol_plt, other_code_is_no_stub)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xc3, 0x90,
				       0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	static const uint8_t cut[] = {0xff, 0x25, 0xca};

	assert_int_equal(plt_decode_x86_64(BYTES(code), 0x1000).kind, PLT_STUB_NONE);
	assert_int_equal(plt_decode_x86_64(BYTES(cut), 0x1000).kind, PLT_STUB_NONE);
	assert_int_equal(plt_decode_aarch64(BYTES(code), 0x1000).kind, PLT_STUB_NONE);
	assert_int_equal(plt_decode_aarch64(BYTES(cut), 0x1000).kind, PLT_STUB_NONE);
}
