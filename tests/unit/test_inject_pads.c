// SPDX-License-Identifier: GPL-2.0-or-later
/* Pads in the address space of this process, and their pages. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/address.h"
#include "inject/pads.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

/* Nothing is there. */
#define NOWHERE UINT64_C(0x200000000000)
#define THUNK	(NOWHERE + ((uint64_t)1 << 30))

static int set_up(void **state)
{
	static struct pads pads;

	assert_true(pads_begin(&pads, getpid()));
	*state = &pads;
	return 0;
}

static int tear_down(void **state)
{
	pads_release(*state);
	return 0;
}

/* Where the jump at an address of the pages leads. */
static uint64_t target_at(const struct pads *pads, uint64_t address)
{
	uint8_t bytes[PATCH_PAD_BYTES] = {0};
	int32_t distance;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		for (size_t k = 0; k < pads->nr; k++) {
			uint64_t at = address + i - pads->addresses[k];

			if (at < pads->page_bytes)
				bytes[i] = pads->bytes[k * pads->page_bytes + at];
		}
	}
	assert_int_equal(bytes[0], 0xe9);
	memcpy(&distance, bytes + 1, sizeof(distance));
	return address + PATCH_PAD_BYTES + (uint64_t)(int64_t)distance;
}

TEST_WITH(struct pads *pads, pads, lead_to_their_thunks)
{
	const uint64_t page = pads->page_bytes;
	/* Two in a page, and one across two pages. */
	const uint64_t at[] = {NOWHERE + 7, NOWHERE + 12, NOWHERE + 2 * page - 2};

	for (size_t i = 0; i < 3; i++)
		assert_true(pads_add(pads, at[i], THUNK + 64 * i));
	for (size_t i = 0; i < 3; i++)
		assert_true(target_at(pads, at[i]) == THUNK + 64 * i);
	assert_int_equal(pads->nr, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(pads->addresses[i] == NOWHERE + i * page);
}

TEST_WITH(struct pads *pads, pads, do_not_overlap_and_reach_their_thunks)
{
	assert_true(pads_add(pads, NOWHERE + 100, THUNK));
	for (uint64_t i = 96; i < 105; i++)
		assert_false(pads_add(pads, NOWHERE + i, THUNK));
	assert_true(pads_add(pads, NOWHERE + 95, THUNK));
	assert_true(pads_add(pads, NOWHERE + 105, THUNK));
	assert_false(pads_add(pads, NOWHERE + 200, NOWHERE + ((uint64_t)3 << 30)));
	assert_false(pads_add(pads, NOWHERE + 200, NOWHERE - ((uint64_t)3 << 30)));
}

TEST_WITH(struct pads *pads, pads, are_where_the_process_has_nothing)
{
	void *heap = sbrk(0);
	uint64_t stack = (uint64_t)(uintptr_t)&heap, code = (uint64_t)(uintptr_t)&set_up;
	const uint64_t taken[] = {(uint64_t)(uintptr_t)heap,
				  (uint64_t)(uintptr_t)heap + (60 << 20),
				  stack,
				  stack - (200 << 20),
				  code,
				  4096,
				  UINT64_C(1) << 47,
				  UINT64_MAX - 2};

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		assert_false(pads_add(pads, taken[i], taken[i]));
	pads_take(pads, NOWHERE + 8192, NOWHERE + 8193);
	assert_false(pads_add(pads, NOWHERE + 8192, THUNK));
	assert_false(pads_add(pads, NOWHERE + 8190, THUNK));
	assert_true(pads_add(pads, NOWHERE + 8180, THUNK));
}

TEST_WITH(struct pads *pads, pads, have_so_many_pages_at_most)
{
	size_t nr = 0;

	while (pads_add(pads, NOWHERE + 3 * nr * pads->page_bytes, THUNK))
		nr++;
	assert_int_equal(nr, PADS_PAGES_MAX);
	assert_int_equal(pads->nr, PADS_PAGES_MAX);
	/* In a page that is there. */
	assert_true(pads_add(pads, NOWHERE + 64, THUNK));
}

#else

TEST(pads, are_for_another_processor)
{
	skip();
}

#endif
