// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "inject/placing.h"
#include "patch/patch_machine.h"
#include "tests/unit/unit.h"

#define MIB  (UINT64_C(1) << 20)
#define PAGE UINT64_C(4096)
/* Of a program that is not PIE: with less room below it than is wanted. */
#define CODE (256 * MIB)

static void *map_code(void)
{
	void *at = mmap((void *)(uintptr_t)CODE, PAGE, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(at, (void *)(uintptr_t)CODE);
	return at;
}

TEST(inject_placing, heap_has_room_above_the_code)
{
	struct placing places[2] = {
		{.first = CODE, .last = CODE + PAGE, .nr_bytes = 300 * MIB},
		{.first = CODE, .last = CODE + PAGE, .nr_bytes = 300 * MIB},
	};
	struct err err = ERR_INIT;
	void *code;

	if (PATCH_REACH_BYTES < 1024 * MIB)
		skip(); /* all that it reaches is below the code, too */
	code = map_code();
	assert_int_equal(placing_find(getpid(), places, 2, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(places[i].found >= CODE + 1024 * MIB);
		assert_true(places[i].found + 300 * MIB - CODE <= 2000 * MIB);
	}
	assert_true(places[0].found >= places[1].found + 300 * MIB);
	munmap(code, PAGE);
}

TEST(inject_placing, place_below_the_code_is_near)
{
	struct placing place = {.first = CODE, .last = CODE + PAGE, .nr_bytes = 8 * MIB};
	struct err err = ERR_INIT;
	void *code = map_code();

	assert_int_equal(placing_find(getpid(), &place, 1, &err), 0);
	assert_true(place.found < CODE && place.found >= CODE - 16 * MIB);
	munmap(code, PAGE);
}

TEST(inject_placing, without_room_it_fails)
{
	struct placing place = {
		.first = CODE, .last = CODE + PAGE, .nr_bytes = PATCH_REACH_BYTES + MIB};
	struct err err = ERR_INIT;
	void *code = map_code();

	assert_int_equal(placing_find(getpid(), &place, 1, &err), ERR_LIMIT);
	munmap(code, PAGE);
}

TEST(inject_placing, far_bytes_come_last_where_there_is_no_room_before_the_code)
{
	struct placing place = {.first = CODE,
				.last = CODE + PAGE,
				.nr_bytes = PATCH_REACH_BYTES + 300 * MIB,
				.nr_far_bytes = PATCH_REACH_BYTES + 292 * MIB};
	struct err err = ERR_INIT;
	void *code = map_code();

	assert_int_equal(placing_find(getpid(), &place, 1, &err), 0);
	assert_true(place.ends_far);
	assert_true(place.found > CODE && place.found + 8 * MIB - CODE <= PATCH_REACH_BYTES);
	munmap(code, PAGE);
}

TEST(inject_placing, what_is_larger_than_all_addresses_in_reach_has_no_place)
{
	struct placing place = {.first = 4 * MIB,
				.last = 4 * MIB + PAGE,
				.nr_bytes = PATCH_REACH_BYTES + 5 * MIB,
				.nr_far_bytes = PATCH_REACH_BYTES};
	struct err err = ERR_INIT;

	assert_int_equal(placing_find(getpid(), &place, 1, &err), ERR_LIMIT);
	assert_int_equal(place.found, 0);
}
