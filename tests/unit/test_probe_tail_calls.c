// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions call others by a jump. */
#include "base/alloc.h"
#include "elf/elf_image.h"
#include "probe/tail_calls.h"
#include "probe/wanted.h"
#include "tests/unit/unit.h"

#define FIRST UINT64_C(0x1000)

struct function {
	uint64_t start, end;
	bool is_part, has_tail_call;
};

#if defined(__x86_64__)

static const uint8_t code[] = "\xe9\x0b\0\0\0"	     /* 0x1000: jmp 0x1010, a function */
			      "\xeb\x07\x90"	     /* 0x1005: jmp 0x100e, outside of all */
			      "\xeb\x0e\x90\x90"     /* 0x1008: jmp 0x1018, a part */
			      "\x90\x90\x90\x90"     /* 0x100c */
			      "\x74\x01\x90\xc3"     /* 0x1010: je 0x1013, in itself */
			      "\x06\xeb\xe9\xc3"     /* 0x1014: data, then jmp 0x1000 */
			      "\xeb\xe6\x90\xc3"     /* 0x1018: jmp 0x1000, in a part */
			      "\xff\x25\0\0\0\0\xc3" /* 0x101c: jmp *(%rip) */
			      "\x48\xb8"	     /* 0x1023: movabs, over the start at 0x1025 */
			      "\xc3\0\0\0\0\0\0\0"
			      "\xeb\xd1"	      /* 0x102d: jmp 0x1000 */
			      "\x90\x90\x90\x90\x90"; /* 0x102f */

static const struct function functions[] = {
	{0x1000, 0x1005, false, true},	{0x1005, 0x1007, false, true},
	{0x1008, 0x100c, false, false}, {0x1010, 0x1014, false, false},
	{0x1014, 0x1018, false, false}, {0x1018, 0x101c, true, false},
	{0x101c, 0x1023, false, true},	{0x1023, 0x102f, false, true},
	{0x1025, 0x1026, false, false},
};

#else

static const uint8_t code[] = "\x04\0\0\x14"	  /* 0x1000: b 0x1010, a function */
			      "\x40\0\0\xb4"	  /* 0x1004: cbz x0, 0x100c, in itself */
			      "\xfe\xff\xff\x17"  /* 0x1008: b 0x1000 */
			      "\xc0\x03\x5f\xd6"  /* 0x100c: ret */
			      "\xfc\xff\xff\x97"  /* 0x1010: bl 0x1000, a call */
			      "\0\0\0\xb4"	  /* 0x1014: cbz x0, 0x1014, in itself */
			      "\0\x02\x1f\xd6"	  /* 0x1018: br x16 */
			      "\x01\0\0\x14"	  /* 0x101c: b 0x1020, a part */
			      "\xc0\x03\x5f\xd6"; /* 0x1020: ret */

static const struct function functions[] = {
	{0x1000, 0x1004, false, true}, {0x1004, 0x1010, false, true},
	{0x1010, 0x101c, false, true}, {0x101c, 0x1020, false, false},
	{0x1020, 0x1024, true, false},
};

#endif

TEST(tail_calls, are_jumps_to_functions)
{
	struct elf_image *image = elf_image_of_code(code, sizeof(code) - 1, FIRST);
	struct wanted wanted = {0};

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		wanted_add_function(&wanted, functions[i].start, functions[i].end,
				    functions[i].is_part);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct wanted_place place = {
			.address = functions[i].start,
			.nr_bytes = (uint32_t)(functions[i].end - functions[i].start)};

		if (!functions[i].is_part &&
		    tail_calls_has(&wanted, image, &place) != functions[i].has_tail_call)
			fail_msg("function at 0x%x", (unsigned int)functions[i].start);
	}
	wanted_release(&wanted);
	elf_image_free(image);
}
