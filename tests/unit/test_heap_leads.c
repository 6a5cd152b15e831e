// SPDX-License-Identifier: GPL-2.0-or-later
/* Where functions of allocators call and jump to, in code of this machine. */
#include "base/alloc.h"
#include "heap/patch_heap.h"
#include "tests/unit/unit.h"

#define CODE UINT64_C(0x10000)

struct lead {
	uint64_t target;
	bool is_word;
};

static void assert_leads(const void *bytes, size_t nr_bytes, const struct lead *expected, size_t nr)
{
	struct patch_heap_leads leads = {.address = CODE, .bytes = bytes, .nr_bytes = nr_bytes};
	struct lead lead;

	for (size_t i = 0; i < nr; i++) {
		assert_true(patch_heap_leads_next(&leads, &lead.target, &lead.is_word));
		assert_int_equal(lead.target, expected[i].target);
		assert_int_equal(lead.is_word, expected[i].is_word);
	}
	assert_false(patch_heap_leads_next(&leads, &lead.target, &lead.is_word));
}

#if defined(__aarch64__)

TEST(heap_leads, calls_jumps_and_words)
{
	static const uint32_t code[] = {
		0x94000004, /* bl .+16 */
		0xb4000080, /* cbz x0, .+16 */
		0xf00000f0, /* adrp x16, +0x1f pages */
		0xaa0103e0, /* mov x0, x1 */
		0xf947de11, /* ldr x17, [x16, #0xfb8] */
		0xd63f0220, /* blr x17 */
		0x90000001, /* adrp x1, . */
		0xf9400422, /* ldr x2, [x1, #8] */
		0x17fffff8, /* b .-32 */
		0xd61f0040, /* br x2 */
	};
	static const struct lead expected[] = {
		{CODE + 16, false}, {CODE + 20, false}, {CODE + 0x1ffb8, true},
		{CODE, false},	    {CODE + 8, true},
	};

	assert_leads(code, sizeof(code), expected, ARRAY_SIZE(expected));
}

TEST(heap_leads, words_that_are_not_known_are_left_out)
{
	static const uint32_t code[] = {
		0xd63f0220, /* blr x17: nothing sets it */
		0xf9400c11, /* ldr x17, [x0, #24] */
		0xd63f0220, /* blr x17: of an object */
		0xf00000f0, /* adrp x16, +0x1f pages */
		0xf947de11, /* ldr x17, [x16, #0xfb8] */
		0x91002231, /* add x17, x17, #8 */
		0xd63f0220, /* blr x17: behind what was loaded */
		0xd65f03c0, /* ret */
	};

	assert_leads(code, sizeof(code), NULL, 0);
}

#else

TEST(heap_leads, calls_jumps_and_words)
{
	static const uint8_t code[] = {
		0xe8, 0x0b, 0,	  0,	0,	 /* call .+16 */
		0xff, 0x15, 0x0a, 0,	0,    0, /* call *0xa(%rip) */
		0xe9, 0xf0, 0xff, 0xff, 0xff,	 /* jmp .-11 */
		0xff, 0x25, 0,	  1,	0,    0, /* jmp *0x100(%rip) */
		0xc3,				 /* ret */
	};
	static const struct lead expected[] = {
		{CODE + 16, false}, {CODE + 21, true}, {CODE, false}, {CODE + 22 + 0x100, true}};

	assert_leads(code, sizeof(code), expected, ARRAY_SIZE(expected));
}

#endif
