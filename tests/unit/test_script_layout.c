// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "base/alloc.h"
#include "profile/runtime.h"
#include "script/cpython_layout.h"
#include "tests/unit/unit.h"

TEST(script_layout, views_say_which_versions_are_known)
{
	unsigned int first, last;

	assert_int_equal(sscanf(runtime_known_versions("Python"), "3.%u to 3.%u", &first, &last),
			 2);
	for (unsigned int minor = 0; minor < 40; minor++)
		assert_int_equal(cpython_layout_of(0x030000f0 | minor << 16) != NULL,
				 first <= minor && minor <= last);
}

TEST(script_layout, is_known_for_releases_only)
{
	assert_int_equal(cpython_layout_of(0x030b02f0)->version, 0x30b);
	assert_int_equal(cpython_layout_of(0x030c0cf0)->version, 0x30c);
	assert_int_equal(cpython_layout_of(0x030d00f0)->version, 0x30d);
	assert_null(cpython_layout_of(0x030b00c1)); /* a candidate */
	assert_int_equal(cpython_layout_of(0x030812f0)->version, 0x308);
	assert_int_equal(cpython_layout_of(0x030a0df0)->version, 0x30a);
	assert_null(cpython_layout_of(0x030710f0));
	assert_null(cpython_layout_of(0x030e00f0));
	assert_null(cpython_layout_of(0));
	assert_null(cpython_layout_of(0xffff0000030b02f0));
}

TEST(script_layout, has_objects_that_fit)
{
	static const uint64_t versions[] = {0x030b02f0, 0x030c01f0, 0x030d00f0,
					    0x030812f0, 0x030912f0, 0x030a0df0};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct cpython_layout *layout = cpython_layout_of(versions[i]);

		assert_in_range(layout->thread.root_cframe, 0, CPYTHON_OBJECT_BYTES_MAX - 24);
		assert_in_range(layout->thread.chunk_top, 0, CPYTHON_OBJECT_BYTES_MAX - 8);
		assert_in_range(cpython_layout_thread_bytes(layout), layout->thread.id + 8,
				CPYTHON_OBJECT_BYTES_MAX);
		assert_in_range(layout->generator_frame + layout->frame.nr_bytes, 8,
				CPYTHON_OBJECT_BYTES_MAX);
		assert_in_range(layout->code.instructions, 8, CPYTHON_OBJECT_BYTES_MAX);
		assert_true(layout->frame.owner < layout->frame.nr_bytes);
		assert_true(layout->frame.is_entry < layout->frame.nr_bytes);
	}
}

/* As python3.11 has them, among others. */
static const struct cpython_member members[] = {
	{"co_argcount", 52},  {"co_filename", 112},   {"co_name", 120},
	{"co_qualname", 128}, {"co_firstlineno", 72}, {"co_linetable", 136},
};

TEST(script_layout, agrees_with_members_of_code_objects)
{
	const struct cpython_layout *layout = cpython_layout_of(0x030b02f0);

	assert_true(cpython_layout_agrees(layout, members, ARRAY_SIZE(members), 184));
	assert_false(cpython_layout_agrees(layout, members, ARRAY_SIZE(members), 192));
	assert_false(cpython_layout_agrees(layout, members, ARRAY_SIZE(members) - 1, 184));
	assert_false(cpython_layout_agrees(cpython_layout_of(0x030c01f0), members,
					   ARRAY_SIZE(members), 192));
}

/* As python3.9 and python3.10 have them. */
TEST(script_layout, agrees_with_members_of_older_versions)
{
	const struct cpython_layout *by_step = cpython_layout_of(0x030902f0);
	const struct cpython_layout *by_range = cpython_layout_of(0x030a0df0);
	static const struct cpython_member code[] = {{"co_filename", 104},
						     {"co_name", 112},
						     {"co_firstlineno", 40},
						     {"co_lnotab", 120},
						     {"co_linetable", 120}};
	static const struct cpython_member frame[] = {
		{"f_back", 24}, {"f_code", 32}, {"f_lasti", 104}};

	assert_true(cpython_layout_agrees(by_step, code, 4, 176));
	assert_false(cpython_layout_agrees(by_range, code, 4, 176));
	assert_true(cpython_layout_agrees(by_range, code, 5, 176));
	assert_false(cpython_layout_agrees(by_step, code, 4, 184));
	assert_true(cpython_layout_agrees_about_frames(by_step, frame, 3, 368));
	assert_false(cpython_layout_agrees_about_frames(by_step, frame, 2, 368));
	assert_false(cpython_layout_agrees_about_frames(by_step, frame, 3, 376));
	assert_true(cpython_layout_agrees_about_frames(by_range, frame, 2, 360));
	assert_false(cpython_layout_agrees_about_frames(by_range, frame, 1, 360));
}

/* _Py_DebugOffsets of 3.13.0, as far as it matters; other words are 0. */
static void put_offsets(uint64_t *words)
{
	static const struct {
		size_t word;
		uint64_t value;
	} known[] = {
		{1, 0x030d00f0}, {5, 632},  {8, 7264}, {9, 7344}, {21, 8},   {23, 72},
		{24, 152},	 {26, 232}, {29, 8},   {30, 0},	  {31, 56},  {33, 70},
		{35, 112},	 {37, 128}, {38, 136}, {39, 68},  {43, 200},
	};

	memcpy(words, "xdebugpy", sizeof(*words));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		words[known[i].word] = known[i].value;
}

TEST(script_layout, takes_offsets_from_the_interpreter)
{
	struct cpython_layout layout = *cpython_layout_of(0x030d00f0);
	uint64_t words[CPYTHON_DEBUG_OFFSETS_BYTES / sizeof(uint64_t)] = {0};

	put_offsets(words);
	words[8] = 7272; /* other options of the build */
	words[9] = 7352;
	assert_true(cpython_layout_take_offsets(&layout, (const uint8_t *)words, sizeof(words)));
	assert_int_equal(layout.runtime.next_interpreter, 7272);
	assert_int_equal(layout.runtime.first_thread, 7352);
}

TEST(script_layout, is_refused_where_the_interpreter_says_otherwise)
{
	static const struct {
		size_t word;
		uint64_t value;
	} wrong[] = {
		{0, 0}, {1, 0x030e00f0}, {2, 1}, {8, UINT64_MAX}, {24, 160}, {33, 71}, {43, 192},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct cpython_layout layout = *cpython_layout_of(0x030d00f0);
		uint64_t words[CPYTHON_DEBUG_OFFSETS_BYTES / sizeof(uint64_t)] = {0};

		put_offsets(words);
		words[wrong[i].word] = wrong[i].value;
		assert_false(cpython_layout_take_offsets(&layout, (const uint8_t *)words,
							 sizeof(words)));
		put_offsets(words);
		assert_false(cpython_layout_take_offsets(&layout, (const uint8_t *)words, 100));
	}
}
