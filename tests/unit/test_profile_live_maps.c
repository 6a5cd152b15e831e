// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings that go as a whole, in parts, and several at once. */
#include "profile/live_maps.h"
#include "tests/unit/unit.h"

#define ROWS 64

struct fixture {
	struct live_maps maps;
	struct live_maps_gone gone;
	unsigned int nr_gone[ROWS];
	int nr_cut;
};

static void note(void *context, uint32_t row)
{
	((struct fixture *)context)->nr_gone[row]++;
}

static struct fixture *begin(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->gone = (struct live_maps_gone){.gone = note, .context = fixture};
	return fixture;
}

static void end(struct fixture *fixture)
{
	live_maps_release(&fixture->maps);
	free(fixture);
}

static void add(struct fixture *fixture, uint64_t start, uint64_t to, uint32_t row)
{
	fixture->nr_cut += live_maps_add(&fixture->maps, start, to, row, &fixture->gone);
}

static void unmap(struct fixture *fixture, uint64_t start, uint64_t to)
{
	fixture->nr_cut += live_maps_remove(&fixture->maps, start, to, &fixture->gone);
}

TEST(live_maps, whole_ones_go)
{
	struct fixture *fixture = begin();

	add(fixture, 300, 400, 3);
	add(fixture, 100, 200, 1);
	add(fixture, 200, 300, 2);
	unmap(fixture, 200, 300);
	assert_int_equal(fixture->nr_gone[2], 1);
	assert_int_equal(fixture->nr_gone[1] + fixture->nr_gone[3], 0);
	unmap(fixture, 200, 300); /* where nothing is any more */
	unmap(fixture, 0, 1000);
	assert_int_equal(fixture->nr_gone[1], 1);
	assert_int_equal(fixture->nr_gone[2], 1);
	assert_int_equal(fixture->nr_gone[3], 1);
	assert_int_equal(fixture->nr_cut, 0);
	assert_int_equal(fixture->maps.nr, 0);
	end(fixture);
}

TEST(live_maps, one_is_gone_with_its_last_part)
{
	struct fixture *fixture = begin();

	add(fixture, 100, 200, 1);
	unmap(fixture, 140, 150); /* two parts are left */
	assert_int_equal(fixture->nr_cut, 1);
	add(fixture, 140, 150, 2); /* in between */
	unmap(fixture, 190, 250);
	unmap(fixture, 50, 110);
	assert_int_equal(fixture->nr_gone[1], 0);
	assert_int_equal(fixture->nr_cut, 1);
	unmap(fixture, 100, 140);
	assert_int_equal(fixture->nr_gone[1], 0);
	unmap(fixture, 150, 190);
	assert_int_equal(fixture->nr_gone[1], 1);
	assert_int_equal(fixture->nr_gone[2], 0);
	assert_int_equal(fixture->nr_cut, 0);
	end(fixture);
}

TEST(live_maps, new_one_replaces_what_is_there)
{
	struct fixture *fixture = begin();

	add(fixture, 100, 200, 1);
	add(fixture, 200, 300, 2);
	add(fixture, 300, 400, 3);
	add(fixture, 150, 350, 4);
	assert_int_equal(fixture->nr_gone[2], 1);
	assert_int_equal(fixture->nr_gone[1] + fixture->nr_gone[3], 0);
	assert_int_equal(fixture->nr_cut, 2);
	add(fixture, 150, 350, 5);
	assert_int_equal(fixture->nr_gone[4], 1);
	unmap(fixture, 100, 400);
	assert_int_equal(fixture->nr_gone[1], 1);
	assert_int_equal(fixture->nr_gone[3], 1);
	assert_int_equal(fixture->nr_gone[5], 1);
	assert_int_equal(fixture->nr_cut, 0);
	end(fixture);
}

TEST(live_maps, empty_ranges_change_nothing)
{
	struct fixture *fixture = begin();

	add(fixture, 100, 200, 1);
	unmap(fixture, 150, 150);
	unmap(fixture, 170, 160);
	add(fixture, 150, 150, 2);
	assert_int_equal(fixture->nr_cut, 0);
	assert_int_equal(fixture->maps.nr, 1);
	unmap(fixture, 100, 200);
	assert_int_equal(fixture->nr_gone[1], 1);
	end(fixture);
}

#define PAGES 200

/* As a table of pages has it, which rows still have one. */
TEST(live_maps, agree_with_a_table_of_pages)
{
	unsigned int x = 1;

	for (int round = 0; round < 300; round++) {
		struct fixture *fixture = begin();
		uint32_t pages[PAGES] = {0}; /* row, or 0 */
		bool was_mapped[ROWS] = {false};

		for (uint32_t row = 1; row < ROWS; row++) {
			unsigned int start, nr;
			bool is_new;

			x = x * 1103515245u + 12345u;
			start = (x >> 8) % PAGES;
			nr = 1 + (x >> 20) % 40;
			nr = start + nr > PAGES ? PAGES - start : nr;
			is_new = (x >> 16 & 3) != 0;
			was_mapped[row] = is_new;
			if (is_new)
				add(fixture, start, start + nr, row);
			else
				unmap(fixture, start, start + nr);
			for (unsigned int i = start; i < start + nr; i++)
				pages[i] = is_new ? row : 0;
			for (uint32_t one = 1; one <= row; one++) {
				bool is_there = false;

				for (unsigned int i = 0; i < PAGES; i++)
					is_there |= pages[i] == one;
				assert_int_equal(fixture->nr_gone[one],
						 was_mapped[one] && !is_there);
			}
		}
		unmap(fixture, 0, PAGES);
		assert_int_equal(fixture->nr_cut, 0);
		assert_int_equal(fixture->maps.nr, 0);
		end(fixture);
	}
}
