// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "elf/elf_ranges.h"
#include "tests/unit/unit.h"

static uint64_t value_at(const struct elf_ranges *ranges, uint64_t address)
{
	uint64_t value = 0;

	return elf_ranges_find(ranges, address, &value) ? value : 0;
}

static struct elf_ranges ranges_of(const struct elf_range *list, size_t nr)
{
	struct elf_ranges ranges = {0};

	for (size_t i = 0; i < nr; i++)
		elf_ranges_add(&ranges, list[i]);
	elf_ranges_sort(&ranges);
	return ranges;
}

TEST(ranges, ends_do_not_belong_to_them)
{
	static const struct elf_range list[] = {{.start = 30, .end = 40, .value = 2},
						{.start = 10, .end = 20, .value = 1}};
	struct elf_ranges ranges = ranges_of(list, ARRAY_SIZE(list));

	assert_int_equal(value_at(&ranges, 9), 0);
	assert_int_equal(value_at(&ranges, 10), 1);
	assert_int_equal(value_at(&ranges, 19), 1);
	assert_int_equal(value_at(&ranges, 20), 0);
	assert_int_equal(value_at(&ranges, 39), 2);
	assert_int_equal(value_at(&ranges, 40), 0);
	elf_ranges_release(&ranges);
	assert_int_equal(value_at(&ranges, 10), 0);
}

TEST(ranges, inner_ones_count_first)
{
	static const struct elf_range list[] = {
		{.start = 10, .end = 20, .value = 2}, {.start = 10, .end = 100, .value = 1},
		{.start = 30, .end = 50, .value = 3}, {.start = 40, .end = 60, .value = 4},
		{.start = 70, .end = 70, .value = 5},
	};
	struct elf_ranges ranges = ranges_of(list, ARRAY_SIZE(list));

	assert_int_equal(value_at(&ranges, 10), 2);
	assert_int_equal(value_at(&ranges, 25), 1);
	assert_int_equal(value_at(&ranges, 35), 3);
	assert_int_equal(value_at(&ranges, 45), 4);
	assert_int_equal(value_at(&ranges, 55), 4);
	assert_int_equal(value_at(&ranges, 65), 1);
	assert_int_equal(value_at(&ranges, 70), 1);
	assert_int_equal(value_at(&ranges, 100), 0);
	elf_ranges_release(&ranges);
}
