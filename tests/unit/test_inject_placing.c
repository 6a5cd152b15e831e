// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
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

static int find(struct placing *places, size_t nr, struct err *err)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int status = placing_find(getpid(), maps, places, nr, err);

	close(maps);
	return status;
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
	assert_int_equal(find(places, 2, &err), 0);
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

	assert_int_equal(find(&place, 1, &err), 0);
	assert_true(place.found < CODE && place.found >= CODE - 16 * MIB);
	munmap(code, PAGE);
}

TEST(inject_placing, without_room_it_fails)
{
	struct placing place = {
		.first = CODE, .last = CODE + PAGE, .nr_bytes = PATCH_REACH_BYTES + MIB};
	struct err err = ERR_INIT;
	void *code = map_code();

	assert_int_equal(find(&place, 1, &err), ERR_LIMIT);
	munmap(code, PAGE);
}

/* As the data of --mem=all are, beside the heap of a program that is not PIE. */
TEST(inject_placing, data_are_apart_where_there_is_no_room_near_the_code)
{
	struct placing place = {.first = CODE,
				.last = CODE + PAGE,
				.nr_bytes = 8 * MIB,
				.nr_data_bytes = PATCH_REACH_BYTES + 300 * MIB,
				.data_reach_bytes = 2 * PATCH_REACH_BYTES + 1024 * MIB};
	struct err err = ERR_INIT;
	void *code = map_code();
	void *heap = mmap((void *)(uintptr_t)(CODE + 64 * MIB), 192 * MIB, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(heap, (void *)(uintptr_t)(CODE + 64 * MIB));
	assert_int_equal(find(&place, 1, &err), 0);
	assert_true(place.found + 8 * MIB <= CODE || place.found >= CODE + PAGE);
	assert_true(place.found + 8 * MIB <= CODE + PATCH_REACH_BYTES);
	assert_true(place.found + PATCH_REACH_BYTES >= CODE + PAGE);
	assert_true(place.found_data >= CODE + 256 * MIB);
	assert_true(place.found_data >= place.found + place.nr_bytes);
	assert_true(place.found_data + place.nr_data_bytes - place.found <= place.data_reach_bytes);
	munmap(heap, 192 * MIB);
	munmap(code, PAGE);
}

TEST(inject_placing, data_out_of_reach_have_no_place)
{
	struct placing place = {.first = CODE,
				.last = CODE + PAGE,
				.nr_bytes = MIB,
				.nr_data_bytes = 300 * MIB,
				.data_reach_bytes = 200 * MIB};
	struct err err = ERR_INIT;
	void *code = map_code();

	assert_int_equal(find(&place, 1, &err), ERR_LIMIT);
	munmap(code, PAGE);
}

TEST(inject_placing, what_is_larger_than_all_addresses_in_reach_has_no_place)
{
	struct placing place = {
		.first = 4 * MIB, .last = 4 * MIB + PAGE, .nr_bytes = PATCH_REACH_BYTES + 5 * MIB};
	struct err err = ERR_INIT;

	assert_int_equal(find(&place, 1, &err), ERR_LIMIT);
	assert_int_equal(place.found, 0);
}
