// SPDX-License-Identifier: GPL-2.0-or-later
/* Skipping instructions is decoding them, but quicker. */
#include "base/alloc.h"
#include "code/code_skip_x86_64.h"
#include "code/code_x86_64.h"
#include "tests/unit/unit.h"

static bool is_of_interest(const uint8_t *bytes, size_t nr_bytes, size_t *length)
{
	struct code_instruction instruction;

	if (!code_decode(bytes, nr_bytes, 0x1000, &instruction))
		return true;
	*length = instruction.nr_bytes;
	return instruction.target || instruction.effect == CODE_EFFECT_JUMP ||
	       instruction.effect == CODE_EFFECT_BRANCH ||
	       instruction.effect == CODE_EFFECT_JUMP_GOT;
}

static void check(const uint8_t *bytes)
{
	size_t length = 0;
	size_t skipped = code_skip(bytes, 0, 1);

	if (is_of_interest(bytes, CODE_INSTRUCTION_MAX_BYTES, &length))
		assert_int_equal(skipped, 0);
	else if (skipped)
		assert_int_equal(skipped, length);
}

TEST(code_skip, is_as_decoding_for_any_bytes)
{
	static const uint8_t before[][2] = {{0x66},	  {0xf2},	{0xf3}, {0x64},
					    {0x41},	  {0x48},	{0x4d}, {0x66, 0x48},
					    {0xf3, 0x0f}, {0x48, 0x0f}, {0x0f}, {0}};
	uint8_t bytes[32];
	uint64_t random = 88172645463325252;

	for (size_t i = 0; i < ARRAY_SIZE(before) * 65536 * 4; i++) {
		size_t kind = i % ARRAY_SIZE(before), of = i / ARRAY_SIZE(before), at = 0;

		for (size_t k = 0; k < sizeof(bytes); k += sizeof(random)) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(bytes + k, &random, sizeof(random));
		}
		for (; at < 2 && before[kind][at]; at++)
			bytes[at] = before[kind][at];
		bytes[at] = (uint8_t)of;
		bytes[at + 1] = (uint8_t)(of >> 8);
		check(bytes);
	}
}

/* mov %rsp,%rbp; movl $1,(%rax); test $1,%al by its long form; movabs; call. */
TEST(code_skip, goes_on_to_the_next_call)
{
	static const uint8_t code[64] =
		"\x48\x89\xe5\xc7\x00\x01\0\0\0\xf6\xc0\x01\x48\xb8\1\2\3\4\5\6\7\x08\xe8\0\0\0\0";

	assert_int_equal(code_skip(code, 0, 40), 22);
	assert_int_equal(code_skip(code, 0, 5), 9);
}
