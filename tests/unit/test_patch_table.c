// SPDX-License-Identifier: GPL-2.0-or-later
/* Patches that share what they have in common. */
#include "patch/patch_table.h"
#include "tests/unit/unit.h"

static struct patch made(uint64_t address, uint64_t thunk, uint8_t nr_bytes)
{
	struct patch patch = {.address = address,
			      .thunk = thunk,
			      .nr_thunk_bytes = 40,
			      .nr_bytes = nr_bytes,
			      .nr_before = 2,
			      .nr_steps = 2,
			      .steps = {{.offset = 1}, {.offset = 20, .window_offset = 3}}};

	memset(patch.old, (int)(address & 0x7f), nr_bytes);
	memset(patch.new, (int)(thunk & 0x7f), nr_bytes);
	memset(patch.before, (int)(address >> 7 & 0x7f), patch.nr_before);
	return patch;
}

static void assert_same(const struct patch_table *table, size_t index, const struct patch *patch)
{
	const struct patch_window window = patch_table_window(table, index);
	struct patch got;

	patch_table_get(table, index, &got);
	assert_int_equal(got.callee, patch->callee);
	assert_memory_equal(&got.stub, &patch->stub,
			    offsetof(struct patch, steps) + sizeof(patch->steps) -
				    offsetof(struct patch, stub));
	assert_int_equal(window.address, patch->address);
	assert_int_equal(window.nr_bytes, patch->nr_bytes);
	assert_int_equal(window.nr_before, patch->nr_before);
	assert_memory_equal(window.old, patch->old, patch->nr_bytes);
	assert_memory_equal(window.new, patch->new, patch->nr_bytes);
	assert_memory_equal(window.before, patch->before, patch->nr_before);
	assert_int_equal(patch_table_thunk(table, index), patch->thunk);
}

TEST(patch_table, gives_back_all_of_each_patch)
{
	struct patch patches[] = {
		made(0x401000, 0x10000, 5),
		made(0x401010, 0x10040, 5),
		made(0x401020, 0x10080, 7),
		made(0x7fff00000000, 0x7ffe00000000, 5),
		made(0x7fff00000010, 0x7ffe00000040, 5),
		made(0x7fff00000020, 0x7ffe00000080, PATCH_MAX_BYTES),
	};
	struct patch_table_maker maker = {.nr = 0};
	struct patch_table table;

	patches[1].callee_kind = PATCH_CALLEE_DIRECT;
	patches[1].callee = 0x123456789abc;
	patches[4].stub = 0x7ffe00001000;
	patches[4].nr_before = 0;
	memset(patches[4].before, 0, sizeof(patches[4].before));
	for (size_t i = 0; i < 6; i++)
		assert_true(patch_table_add(&maker, &patches[i]));
	table = patch_table_made(&maker);
	assert_int_equal(table.nr, 6);
	assert_true(patch_table_is_sound(&table));
	for (size_t i = 0; i < 6; i++)
		assert_same(&table, i, &patches[i]);
	assert_true(patch_table_size(table.nr, table.nr_shapes, table.nr_bytes) <=
		    patch_table_max_size(table.nr));
	patch_table_maker_release(&maker);
}

TEST(patch_table, has_common_parts_once)
{
	struct patch_table_maker maker = {.nr = 0};
	struct patch_table table;

	for (uint64_t i = 0; i < 1000; i++) {
		const struct patch patch =
			made(0x401000 + 32 * i, 0x10000 + 64 * i, (uint8_t)(5 + i % 3));

		assert_true(patch_table_add(&maker, &patch));
	}
	table = patch_table_made(&maker);
	assert_int_equal(table.nr_shapes, 3);
	assert_true(patch_table_is_sound(&table));
	for (uint64_t i = 0; i < 1000; i++) {
		const struct patch patch =
			made(0x401000 + 32 * i, 0x10000 + 64 * i, (uint8_t)(5 + i % 3));

		assert_same(&table, i, &patch);
	}
	patch_table_maker_release(&maker);
}

TEST(patch_table, is_the_same_where_its_parts_follow_each_other)
{
	const struct patch patches[] = {made(0x401000, 0x10000, 5), made(0x401010, 0x10040, 6)};
	struct patch_table_maker maker = {.nr = 0};
	struct patch_table table, over;
	uint64_t copy[128];
	uint8_t *at = (uint8_t *)copy;

	assert_true(patch_table_add(&maker, &patches[0]));
	assert_true(patch_table_add(&maker, &patches[1]));
	table = patch_table_made(&maker);
	assert_true(patch_table_size(table.nr, table.nr_shapes, table.nr_bytes) <= sizeof(copy));
	memcpy(at, table.rows, patch_table_size(table.nr, 0, 0));
	memcpy(at + patch_table_size(table.nr, 0, 0), table.shapes,
	       patch_table_size(0, table.nr_shapes, 0));
	memcpy(at + patch_table_size(table.nr, table.nr_shapes, 0), table.bytes, table.nr_bytes);
	over = patch_table_over(at, table.nr, table.nr_shapes, table.nr_bytes);
	assert_true(patch_table_is_sound(&over));
	assert_same(&over, 0, &patches[0]);
	assert_same(&over, 1, &patches[1]);
	patch_table_maker_release(&maker);
}

TEST(patch_table, a_void_patch_changes_nothing)
{
	const struct patch patches[] = {made(0x401000, 0x10011, 5), made(0x401010, 0x10055, 6)};
	struct patch_table_maker maker = {.nr = 0};
	struct patch_table table;
	struct patch got;

	assert_true(patch_table_add(&maker, &patches[0]));
	assert_true(patch_table_add(&maker, &patches[1]));
	patch_table_void(&maker, 1);
	table = patch_table_made(&maker);
	assert_same(&table, 0, &patches[0]);
	patch_table_get(&table, 1, &got);
	assert_memory_equal(got.new, patches[1].old, 6);
	assert_memory_equal(got.old, patches[1].old, 6);
	patch_table_maker_release(&maker);
}

TEST(patch_table, refuses_more_shapes_than_a_later_profc_reads)
{
	struct patch_table_maker maker = {.nr = 0};
	struct patch patch = made(0x401000, 0x10000, 5);

	for (size_t i = 0; i < PATCH_SHAPES_MAX; i++) {
		patch.nr_thunk_bytes = (uint16_t)i;
		assert_true(patch_table_add(&maker, &patch));
	}
	patch.nr_steps = 1;
	assert_false(patch_table_add(&maker, &patch));
	assert_int_equal(maker.nr, PATCH_SHAPES_MAX);
	patch.nr_steps = 2;
	assert_true(patch_table_add(&maker, &patch));
	patch_table_maker_release(&maker);
}
