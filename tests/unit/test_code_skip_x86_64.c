// SPDX-License-Identifier: GPL-2.0-or-later
/* It finds what decoding finds, but quicker: four functions side by side. */
#include "base/alloc.h"
#include "code/code_skip_x86_64.h"
#include "code/code_x86_64.h"
#include "tests/unit/unit.h"

#define SIZE 48

/* All that matters of some code, by the decoder that knows all instructions. */
static size_t decode_all(const uint8_t *bytes, size_t nr_bytes, size_t from, size_t to,
			 uint32_t *found)
{
	size_t nr = 0, step;

	for (size_t at = from; at < to; at += step) {
		struct code_instruction instruction;

		step = 1;
		if (!code_decode(bytes + at, nr_bytes - at, at, &instruction)) {
			found[nr++] = (uint32_t)at | CODE_IS_UNKNOWN;
			continue;
		}
		step = instruction.nr_bytes;
		if (instruction.target || instruction.effect == CODE_EFFECT_JUMP ||
		    instruction.effect == CODE_EFFECT_BRANCH ||
		    instruction.effect == CODE_EFFECT_JUMP_GOT)
			found[nr++] = (uint32_t)at;
	}
	return nr;
}

/* Each that matters is found; the others are instructions, of which some may be found, too. */
static void compare(const struct code_lane *lane, const uint8_t *bytes, size_t from)
{
	static uint32_t wanted[CODE_FOUND_MAX];
	size_t nr = decode_all(bytes, SIZE, from, lane->end, wanted), at = 0;

	for (size_t i = 0; i < lane->nr_found && at < nr; i++)
		at += lane->found[i] == wanted[at];
	if (at < nr)
		fail_msg("%zu of %zu found", at, nr);
}

static bool is_open(const struct code_lane *lanes)
{
	for (size_t i = 0; i < CODE_LANES; i++) {
		if (lanes[i].at < lanes[i].end)
			return true;
	}
	return false;
}

static void check(const uint8_t *bytes)
{
	static struct code_lane lanes[CODE_LANES];

	for (size_t i = 0; i < CODE_LANES; i++) {
		lanes[i].at = i;
		lanes[i].end = SIZE - i % 3;
		lanes[i].nr_found = 0;
	}
	while (is_open(lanes))
		code_find_leads(bytes, SIZE, lanes);
	for (size_t i = 0; i < CODE_LANES; i++) {
		assert_true(lanes[i].at >= lanes[i].end);
		compare(&lanes[i], bytes, i);
	}
}

TEST(code_skip, is_as_decoding_for_any_bytes)
{
	static const uint8_t before[][2] = {{0x66},	  {0xf2},	{0xf3}, {0x64},
					    {0x41},	  {0x48},	{0x4d}, {0x66, 0x48},
					    {0xf3, 0x0f}, {0x48, 0x0f}, {0x0f}, {0}};
	uint8_t bytes[SIZE];
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

/* mov %rsp,%rbp; movl $1,(%rax); test $1,%al by its long form; movabs; call; data; jmp. */
TEST(code_skip, finds_what_leads_elsewhere)
{
	static const uint8_t code[64] =
		"\x48\x89\xe5\xc7\x00\x01\0\0\0\xf6\xc0\x01\x48\xb8\1\2\3\4\5"
		"\6\7\x08\xe8\0\0\0\0\x06\xeb\x01";
	static struct code_lane lanes[CODE_LANES] = {{.at = 0, .end = 30}};

	code_find_leads(code, sizeof(code), lanes);
	assert_int_equal(lanes[0].at, 30);
	assert_int_equal(lanes[0].nr_found, 3);
	assert_int_equal(lanes[0].found[0], 22);
	assert_int_equal(lanes[0].found[1], 27 | CODE_IS_UNKNOWN);
	assert_int_equal(lanes[0].found[2], 28);
}

TEST(code_skip, leaves_room_for_what_is_found)
{
	static uint8_t code[4 * CODE_FOUND_MAX];
	static struct code_lane lanes[CODE_LANES] = {{.at = 0, .end = sizeof(code)}};

	memset(code, 0x70, sizeof(code));
	code_find_leads(code, sizeof(code), lanes);
	assert_int_equal(lanes[0].at, 2 * CODE_FOUND_MAX);
	lanes[0].nr_found = 0;
	code_find_leads(code, sizeof(code), lanes);
	assert_int_equal(lanes[0].at, sizeof(code));
}
