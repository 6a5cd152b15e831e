// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks that are all recorded, as rows that say the same. */
#include "base/clock.h"
#include "profile/heap_estimate.h"
#include "profile/heap_gather.h"
#include "profile/profile.h"
#include "stack/stack.h"
#include "tests/unit/unit.h"

struct fixture {
	struct profile *profile;
	struct heap_gather *gather;
	struct thread_id threads[2];
	struct stack_id stacks[2];
};

static void begin(struct fixture *fixture)
{
	struct profile *profile = profile_new();

	fixture->profile = profile;
	profile_add_process(profile, &(struct profile_process){.parent = PROCESS_NONE});
	for (int i = 0; i < 2; i++) {
		fixture->threads[i] =
			profile_add_thread(profile, &(struct profile_thread){.tid = i});
		fixture->stacks[i] = stack_trie_intern(
			profile->stacks, STACK_EMPTY,
			profile_intern_frame(
				profile,
				(struct code_address){.module = MODULE_UNKNOWN, .address = i + 1}));
	}
	fixture->gather = heap_gather_new(profile, HEAP_ROWS_ALIKE);
}

static void end(struct fixture *fixture)
{
	heap_gather_release(fixture->gather);
	profile_free(fixture->profile);
}

static void add(struct fixture *fixture, uint64_t address, uint64_t size, uint64_t ms)
{
	heap_gather_add(fixture->gather, &(struct heap_block){.address = address,
							      .size_bytes = size,
							      .time_ns = ms * NS_PER_MS,
							      .thread = fixture->threads[0],
							      .stack = fixture->stacks[0]});
}

static struct heap_freed freed_at(const struct fixture *fixture, uint64_t address, uint64_t ms)
{
	return (struct heap_freed){
		.address = address, .time_ns = ms * NS_PER_MS, .thread = fixture->threads[1]};
}

static void drop(struct fixture *fixture, uint64_t address, uint64_t ms)
{
	struct heap_freed freed = freed_at(fixture, address, ms);

	heap_gather_free(fixture->gather, &freed);
}

struct totals {
	double bytes, blocks, alive_bytes, alive_blocks, brief_bytes;
};

static struct totals totals_of(const struct profile *profile)
{
	struct totals totals = {0};

	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];

		totals.bytes += allocation_bytes(row);
		totals.blocks += allocation_blocks(row);
		if (!row->freed_ns) {
			totals.alive_bytes += allocation_bytes(row);
			totals.alive_blocks += allocation_blocks(row);
		} else if (row->life_ns <= NS_PER_MS) {
			totals.brief_bytes += allocation_bytes(row);
		}
	}
	return totals;
}

static uint64_t peak_bytes(const struct profile *profile)
{
	struct heap_estimate estimate;
	double bytes;

	heap_estimate_init(&estimate, profile);
	heap_peak_ns(&estimate, NULL, &bytes);
	heap_estimate_release(&estimate);
	return (uint64_t)bytes;
}

TEST(gather, many_short_lives_are_one_row)
{
	struct fixture fixture;
	struct totals totals;

	begin(&fixture);
	for (uint64_t i = 0; i < 100000; i++) {
		add(&fixture, 0x1000 + i % 7 * 16, i % 10, 1 + i / 1000);
		drop(&fixture, 0x1000 + i % 7 * 16, 1 + i / 1000);
	}
	add(&fixture, 0x2000, 77, 200);
	heap_gather_flush(fixture.gather);
	totals = totals_of(fixture.profile);
	/* Those in turn, one that was alive at the peak, 9 bytes, and the one that is left. */
	assert_in_range(fixture.profile->heap.nr_allocations, 2, 3);
	assert_int_equal((uint64_t)totals.blocks, 100001);
	assert_int_equal((uint64_t)totals.bytes, 450000 + 77);
	assert_int_equal((uint64_t)totals.alive_bytes, 77);
	assert_int_equal((uint64_t)totals.alive_blocks, 1);
	assert_int_equal((uint64_t)totals.brief_bytes, 450000);
	assert_int_equal(peak_bytes(fixture.profile), 77);
	end(&fixture);
}

TEST(gather, blocks_that_live_on_share_a_row_until_they_are_freed)
{
	struct fixture fixture;
	const struct profile_allocation *rows;

	begin(&fixture);
	for (uint64_t i = 1; i <= 5; i++)
		add(&fixture, 16 * i, 100 * i, i);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 1);
	assert_int_equal(rows[0].size_bytes, 1500);
	assert_int_equal(rows[0].nr_more, 4);
	assert_int_equal(rows[0].time_ns, 5 * NS_PER_MS);
	drop(&fixture, 16, 1501);
	drop(&fixture, 48, 1503);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	assert_int_equal(rows[0].size_bytes, 1100);
	assert_int_equal(rows[0].nr_more, 2);
	assert_int_equal(rows[0].freed_ns, 0);
	assert_int_equal(rows[1].size_bytes, 400);
	assert_int_equal(rows[1].nr_more, 1);
	assert_int_equal(rows[1].time_ns, 5 * NS_PER_MS);
	assert_int_equal(rows[1].freed_ns, 1501 * NS_PER_MS);
	assert_int_equal(rows[1].life_ns, 1500 * NS_PER_MS);
	assert_int_equal(rows[1].freed_by.v, fixture.threads[1].v);
	assert_int_equal(fixture.profile->heap.nr_parts, 1);
	assert_int_equal(fixture.profile->heap.parts[0].of, 0);
	/* The rest at once needs no other row. */
	drop(&fixture, 32, 1600);
	drop(&fixture, 64, 1600);
	drop(&fixture, 80, 1600);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	assert_int_equal(rows[0].freed_ns, 1600 * NS_PER_MS);
	assert_in_range(rows[0].life_ns, 1596 * NS_PER_MS, 1597 * NS_PER_MS);
	end(&fixture);
}

TEST(gather, each_has_a_row_of_its_own_if_asked_for)
{
	struct fixture fixture;
	uint32_t rows[2];

	begin(&fixture);
	heap_gather_release(fixture.gather);
	fixture.gather = heap_gather_new(fixture.profile, HEAP_ROWS_ALIVE_EACH);
	add(&fixture, 16, 100, 1);
	assert_false(heap_gather_find(fixture.gather, 0, 16, &rows[0]));
	add(&fixture, 32, 200, 2);
	heap_gather_flush(fixture.gather);
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	assert_true(heap_gather_find(fixture.gather, 0, 16, &rows[0]));
	assert_true(heap_gather_find(fixture.gather, 0, 32, &rows[1]));
	assert_int_equal(fixture.profile->heap.allocations[rows[0]].size_bytes, 100);
	assert_int_equal(fixture.profile->heap.allocations[rows[1]].size_bytes, 200);
	end(&fixture);
}

/* 30 blocks of 10 bytes at once, all of them gone when rows are made. */
TEST(gather, peak_is_exact_although_all_is_freed)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t round = 0; round < 50; round++) {
		uint64_t nr = round == 20 ? 30 : 5;

		for (uint64_t i = 0; i < nr; i++)
			add(&fixture, 16 + i * 16, 10, 10 * round + 1);
		for (uint64_t i = 0; i < nr; i++)
			drop(&fixture, 16 + i * 16, 10 * round + 5);
		if (round % 8 == 7)
			heap_gather_flush(fixture.gather);
	}
	heap_gather_flush(fixture.gather);
	assert_int_equal(peak_bytes(fixture.profile), 300);
	assert_int_equal((uint64_t)totals_of(fixture.profile).blocks, 49 * 5 + 30);
	assert_true(fixture.profile->heap.nr_allocations <= 14);
	end(&fixture);
}

/* All of it at one time, as far as is known: the order alone tells what was alive together. */
TEST(gather, peak_is_that_of_the_order)
{
	struct fixture fixture;

	begin(&fixture);
	add(&fixture, 16, 100, 5);
	heap_gather_flush(fixture.gather);
	add(&fixture, 32, 10, 5);
	drop(&fixture, 16, 5);
	add(&fixture, 48, 99, 5);
	drop(&fixture, 32, 5);
	drop(&fixture, 48, 5);
	heap_gather_flush(fixture.gather);
	assert_int_equal(peak_bytes(fixture.profile), 110);
	end(&fixture);
}

TEST(gather, lives_are_told_apart)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t i = 0; i < 100; i++) {
		add(&fixture, 16, 1, 100 * i);
		drop(&fixture, 16, 100 * i + 1);
		add(&fixture, 16, 1000, 100 * i + 2);
		drop(&fixture, 16, 100 * i + 14);
	}
	heap_gather_flush(fixture.gather);
	assert_int_equal((uint64_t)totals_of(fixture.profile).brief_bytes, 100);
	end(&fixture);
}

static void replace(struct fixture *fixture, uint64_t from, uint64_t to, uint64_t size, uint64_t ms)
{
	heap_gather_add(fixture->gather, &(struct heap_block){.address = to,
							      .replaces = true,
							      .old_address = from,
							      .size_bytes = size,
							      .time_ns = ms * NS_PER_MS,
							      .thread = fixture->threads[0],
							      .stack = fixture->stacks[0]});
}

static void move(struct fixture *fixture, uint64_t from, uint64_t to, uint64_t size, uint64_t ms)
{
	struct heap_freed freed = freed_at(fixture, from, ms);

	heap_gather_free_to_move(fixture->gather, &freed);
	replace(fixture, from, to, size, ms);
}

/* Of 10 bytes at 1 ms, 20 at 5, and freed at 25; and another one, with rows made in between. */
TEST(gather, lives_go_on_through_realloc)
{
	struct fixture fixture;
	const struct profile_allocation *rows;

	begin(&fixture);
	add(&fixture, 16, 10, 1);
	move(&fixture, 16, 32, 20, 5);
	drop(&fixture, 32, 25);
	add(&fixture, 48, 30, 30);
	heap_gather_flush(fixture.gather);
	move(&fixture, 48, 64, 40, 35);
	move(&fixture, 64, 80, 50, 36);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 5);
	assert_int_equal(rows[0].size_bytes, 10);
	assert_true(rows[0].is_moved);
	assert_int_equal(rows[1].size_bytes, 20);
	assert_false(rows[1].is_moved);
	assert_int_equal(rows[1].life_ns, 24 * NS_PER_MS);
	assert_int_equal(rows[2].size_bytes, 30);
	assert_true(rows[2].is_moved);
	assert_int_equal(rows[3].size_bytes, 40);
	assert_true(rows[3].is_moved);
	assert_int_equal(rows[4].size_bytes, 50);
	assert_int_equal(rows[4].former, 2 + 1);
	assert_int_equal(rows[4].freed_ns, 0);
	end(&fixture);
}

static void begin_sample(struct fixture *fixture)
{
	begin(fixture);
	heap_gather_release(fixture->gather);
	fixture->gather = heap_gather_new(fixture->profile, HEAP_ROWS_EACH);
}

TEST(gather, block_of_a_sample_has_its_row_at_once)
{
	struct fixture fixture;
	const struct profile_allocation *rows;
	struct heap_freed freed;
	uint32_t row;

	begin_sample(&fixture);
	heap_gather_add(fixture.gather, &(struct heap_block){.address = 16,
							     .size_bytes = 100,
							     .mean_bytes = 512,
							     .time_ns = 5 * NS_PER_MS,
							     .thread = fixture.threads[0],
							     .stack = fixture.stacks[0],
							     .kind = ALLOCATION_NEW});
	assert_true(heap_gather_find(fixture.gather, 0, 16, &row));
	assert_int_equal(row, 0);
	add(&fixture, 32, 200, 4); /* rows are in the order of time */
	freed = freed_at(&fixture, 16, 7);
	freed.wants_stack = true;
	freed.stack = fixture.stacks[1];
	freed.end = STACK_END_ROOT;
	heap_gather_free(fixture.gather, &freed);
	assert_false(heap_gather_find(fixture.gather, 0, 16, &row));
	heap_gather_free(fixture.gather, &freed); /* it is not there */
	/* In the place of a block that seems to live: whether it does is not known. */
	add(&fixture, 32, 300, 8);
	drop(&fixture, 32, 9);

	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 3);
	assert_int_equal(rows[0].size_bytes, 100);
	assert_int_equal(rows[0].mean_bytes, 512);
	assert_int_equal(rows[0].kind, ALLOCATION_NEW);
	assert_int_equal(rows[0].time_ns, 5 * NS_PER_MS);
	assert_int_equal(rows[0].freed_ns, 7 * NS_PER_MS);
	assert_int_equal(rows[0].freed_by.v, fixture.threads[1].v);
	assert_int_equal(rows[0].freed_stack.v, fixture.stacks[1].v);
	assert_int_equal(rows[0].freed_end, STACK_END_ROOT + 1);
	assert_int_equal(rows[1].time_ns, 5 * NS_PER_MS);
	assert_int_equal(rows[1].freed_ns, 0);
	assert_int_equal(rows[2].freed_ns, 9 * NS_PER_MS);
	assert_int_equal(rows[2].freed_end, 0);
	end(&fixture);
}

/* A new mapping does not end what another thread has on the move. */
TEST(gather, blocks_of_a_sample_move)
{
	struct fixture fixture;
	const struct profile_allocation *rows;
	struct heap_freed freed;
	uint32_t row, number;

	begin_sample(&fixture);
	add(&fixture, 16, 10, 1);
	move(&fixture, 16, 32, 20, 5);
	freed = freed_at(&fixture, 32, 6);
	heap_gather_free_to_move(fixture.gather, &freed);
	number = heap_gather_add_map(fixture.gather,
				     &(struct profile_allocation){.size_bytes = 4096,
								  .time_ns = 6 * NS_PER_MS,
								  .kind = ALLOCATION_MAP,
								  .thread = fixture.threads[0],
								  .freed_by = THREAD_NONE});
	assert_int_equal(heap_gather_map_row(fixture.gather, number), 2);
	assert_int_equal(fixture.profile->heap.allocations[1].freed_ns, 0);
	heap_gather_keep(fixture.gather, 0, 32);
	assert_true(heap_gather_find(fixture.gather, 0, 32, &row));
	assert_int_equal(row, 1);
	/* It is moved to a block without a record. Then an unrecorded one there is moved. */
	heap_gather_free_to_move(fixture.gather, &freed);
	move(&fixture, 32, 48, 30, 7);
	/* Of two moves from one address the last counts. */
	add(&fixture, 64, 40, 8);
	freed = freed_at(&fixture, 64, 8);
	heap_gather_free_to_move(fixture.gather, &freed);
	add(&fixture, 64, 50, 9);
	move(&fixture, 64, 80, 60, 10);
	heap_gather_free_map(fixture.gather, number, &freed, false);
	heap_gather_flush(fixture.gather);

	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 7);
	assert_int_equal(rows[1].former, 0 + 1);
	for (int i = 0; i < 7; i++)
		assert_int_equal(rows[i].is_moved, i == 0 || i == 1 || i == 4 || i == 5);
	assert_int_equal(rows[1].freed_ns, 6 * NS_PER_MS);
	assert_int_equal(rows[2].freed_ns, 8 * NS_PER_MS);
	assert_int_equal(rows[3].former, FORMER_UNKNOWN);
	assert_int_equal(rows[6].size_bytes, 60);
	assert_int_equal(rows[6].former, 5 + 1);
	end(&fixture);
}

static uint64_t bytes_at(const struct profile *profile, uint64_t at_ns)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];

		if (heap_is_alive(profile, row, at_ns, HEAP_AT_END))
			bytes += row->size_bytes;
	}
	return bytes;
}

/* All that begins in one period, or ends in it, on either side of a mark. */
TEST(gather, rows_tell_what_was_alive_at_a_mark)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t i = 1; i <= 10; i++) {
		if (i == 6)
			heap_gather_mark(fixture.gather, 5500000);
		add(&fixture, 16 * i, 10, i);
	}
	heap_gather_flush(fixture.gather);
	for (uint64_t i = 1; i <= 10; i++) {
		if (i == 4)
			heap_gather_mark(fixture.gather, 103500000);
		drop(&fixture, 16 * i, 100 + i);
	}
	heap_gather_flush(fixture.gather);
	assert_int_equal(bytes_at(fixture.profile, 5500000), 50);
	assert_int_equal(bytes_at(fixture.profile, 103500000), 70);
	end(&fixture);
}

#define MODEL_BLOCKS 64

struct model {
	uint64_t sizes[MODEL_BLOCKS]; /* 0: it is not there */
	uint64_t alive_bytes, peak_bytes, bytes, blocks;
};

static void model_add(struct model *model, size_t at, uint64_t size)
{
	model->alive_bytes += size - model->sizes[at];
	model->sizes[at] = size;
	model->bytes += size;
	model->blocks++;
	if (model->alive_bytes > model->peak_bytes)
		model->peak_bytes = model->alive_bytes;
}

static void model_drop(struct model *model, size_t at)
{
	model->alive_bytes -= model->sizes[at];
	model->sizes[at] = 0;
}

/* Blocks that come, go and move by chance; now and then rows are made. Sums and peak are exact. */
static void agree_with_model(unsigned int seed)
{
	struct fixture fixture;
	struct model model = {0};
	struct totals totals;

	begin(&fixture);
	srand(seed);
	for (uint64_t step = 0; step < 3000; step++) {
		/* Many at one time, and few at others. */
		uint64_t ms = 1 + step / (seed % 2 ? 200 : 2), size = 1 + (uint64_t)rand() % 100;
		size_t at = (size_t)rand() % MODEL_BLOCKS, to = (size_t)rand() % MODEL_BLOCKS;
		int what = rand() % 100;

		if (what < 45) {
			add(&fixture, 16 + 16 * at, size, ms);
			model_drop(&model, at);
			model_add(&model, at, size);
		} else if (what < 90) {
			drop(&fixture, 16 + 16 * at, ms);
			model_drop(&model, at);
		} else if (what < 97 && at != to && model.sizes[at] && !model.sizes[to]) {
			move(&fixture, 16 + 16 * at, 16 + 16 * to, size, ms);
			model_drop(&model, at);
			model_add(&model, to, size);
		} else if (what >= 97) {
			heap_gather_flush(fixture.gather);
		}
	}
	heap_gather_flush(fixture.gather);
	totals = totals_of(fixture.profile);
	assert_int_equal((uint64_t)totals.bytes, model.bytes);
	assert_int_equal((uint64_t)totals.blocks, model.blocks);
	assert_int_equal((uint64_t)totals.alive_bytes, model.alive_bytes);
	assert_int_equal(peak_bytes(fixture.profile), model.peak_bytes);
	end(&fixture);
}

TEST(gather, agrees_with_a_model)
{
	for (unsigned int seed = 1; seed <= 100; seed++)
		agree_with_model(seed);
}

TEST(gather, what_realloc_keeps_is_not_freed)
{
	struct fixture fixture;
	struct heap_freed freed;

	begin(&fixture);
	add(&fixture, 16, 100, 1);
	freed = freed_at(&fixture, 16, 2);
	heap_gather_free_to_move(fixture.gather, &freed);
	heap_gather_keep(fixture.gather, 0, 16);
	heap_gather_flush(fixture.gather);
	heap_gather_free_to_move(fixture.gather, &freed);
	heap_gather_keep(fixture.gather, 0, 16);
	heap_gather_flush(fixture.gather);
	assert_int_equal(fixture.profile->heap.nr_allocations, 1);
	assert_int_equal(fixture.profile->heap.allocations[0].freed_ns, 0);
	heap_gather_free_to_move(fixture.gather, &freed);
	add(&fixture, 16, 200, 3);
	freed.time_ns = 4 * NS_PER_MS;
	heap_gather_free_to_move(fixture.gather, &freed);
	heap_gather_flush(fixture.gather);
	assert_int_not_equal(fixture.profile->heap.allocations[0].freed_ns, 0);
	assert_int_equal((uint64_t)totals_of(fixture.profile).alive_blocks, 0);
	assert_int_equal((uint64_t)totals_of(fixture.profile).bytes, 300);
	end(&fixture);
}

/* Records are read, and rows made, while a thread is in realloc(). */
TEST(gather, rows_may_be_made_before_it_is_known_what_realloc_does)
{
	struct fixture fixture;
	const struct profile_allocation *rows;
	struct heap_freed freed;

	for (int older = 0; older < 2; older++) {
		begin(&fixture);
		add(&fixture, 16, 100, 1);
		add(&fixture, 32, 200, 2);
		add(&fixture, 48, 400, 3);
		if (older)
			heap_gather_make_rows(fixture.gather);
		freed = freed_at(&fixture, 16, 4);
		heap_gather_free_to_move(fixture.gather, &freed);
		freed = freed_at(&fixture, 32, 5);
		heap_gather_free_to_move(fixture.gather, &freed);
		freed = freed_at(&fixture, 48, 6);
		heap_gather_free_to_move(fixture.gather, &freed);
		heap_gather_make_rows(fixture.gather);
		assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 700);
		heap_gather_keep(fixture.gather, 0, 16);
		replace(&fixture, 32, 64, 250, 7);
		heap_gather_make_rows(fixture.gather);
		/* No more is said of the third. */
		assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 750);
		heap_gather_flush(fixture.gather);
		assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 350);
		assert_int_equal((uint64_t)totals_of(fixture.profile).bytes, 950);
		drop(&fixture, 16, 8);
		drop(&fixture, 64, 9);
		heap_gather_flush(fixture.gather);
		assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 0);
		rows = fixture.profile->heap.allocations;
		for (size_t i = 0; i < fixture.profile->heap.nr_allocations; i++)
			assert_int_not_equal(rows[i].freed_ns, 0);
		end(&fixture);
	}
}

TEST(gather, an_address_used_again_was_freed)
{
	struct fixture fixture;

	begin(&fixture);
	add(&fixture, 16, 100, 1);
	add(&fixture, 16, 200, 2);
	heap_gather_flush(fixture.gather);
	add(&fixture, 16, 300, 3);
	heap_gather_flush(fixture.gather);
	assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 300);
	assert_int_equal((uint64_t)totals_of(fixture.profile).bytes, 600);
	drop(&fixture, 32, 4); /* of before */
	heap_gather_flush(fixture.gather);
	assert_int_equal((uint64_t)totals_of(fixture.profile).bytes, 600);
	end(&fixture);
}

static uint32_t map(struct fixture *fixture, uint64_t size, uint64_t ms, uint32_t former)
{
	return heap_gather_add_map(fixture->gather,
				   &(struct profile_allocation){.size_bytes = size,
								.time_ns = ms * NS_PER_MS,
								.former = former,
								.kind = ALLOCATION_MAP,
								.thread = fixture->threads[0],
								.freed_by = THREAD_NONE,
								.stack = fixture->stacks[0]});
}

static void unmap(struct fixture *fixture, uint32_t number, uint64_t ms, bool is_moved)
{
	struct heap_freed freed = freed_at(fixture, 0, ms);

	heap_gather_free_map(fixture->gather, number, &freed, is_moved);
}

/* With blocks before them and after, of which rows are made at the same time. */
TEST(gather, each_mapping_has_a_row_of_its_own_in_the_order_of_time)
{
	struct fixture fixture;
	static const uint64_t times_ms[] = {1, 2, 3, 5, 7};
	const struct profile_allocation *rows;
	uint32_t brief, lasting;

	begin(&fixture);
	add(&fixture, 16, 1, 1);
	brief = map(&fixture, 1000, 2, 0);
	lasting = map(&fixture, 2000, 3, 0);
	unmap(&fixture, brief, 4, false);
	add(&fixture, 32, 2, 5);
	heap_gather_flush(fixture.gather);
	unmap(&fixture, lasting, 6, false);
	brief = map(&fixture, 3000, 7, 0);
	unmap(&fixture, brief, 8, false);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	assert_int_equal(fixture.profile->heap.nr_allocations, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rows[i].time_ns, times_ms[i] * NS_PER_MS);
	assert_int_equal(rows[1].freed_ns, 4 * NS_PER_MS);
	assert_int_equal(rows[1].freed_by.v, fixture.threads[1].v);
	assert_int_equal(rows[2].freed_ns, 6 * NS_PER_MS);
	assert_int_equal(rows[4].freed_ns, 8 * NS_PER_MS);
	assert_int_equal((uint64_t)totals_of(fixture.profile).alive_bytes, 3);
	end(&fixture);
}

/* Most blocks are alive when no mapping is, and most of both at another moment. */
TEST(gather, mappings_are_part_of_the_peak)
{
	struct fixture fixture;
	uint32_t number;

	begin(&fixture);
	for (uint64_t i = 1; i <= 30; i++)
		add(&fixture, 16 * i, 10, 1);
	for (uint64_t i = 1; i <= 30; i++)
		drop(&fixture, 16 * i, 2);
	add(&fixture, 16, 7, 10);
	number = map(&fixture, 1000, 11, 0);
	add(&fixture, 32, 5, 12);
	drop(&fixture, 16, 13);
	unmap(&fixture, number, 14, false);
	drop(&fixture, 32, 15);
	heap_gather_flush(fixture.gather);
	assert_int_equal(peak_bytes(fixture.profile), 1012);
	/* One that began before rows were made, and another after that. */
	number = map(&fixture, 2000, 20, 0);
	heap_gather_flush(fixture.gather);
	add(&fixture, 16, 9, 21);
	drop(&fixture, 16, 22);
	map(&fixture, 500, 23, 0);
	unmap(&fixture, number, 24, false);
	heap_gather_flush(fixture.gather);
	assert_int_equal(peak_bytes(fixture.profile), 2500);
	end(&fixture);
}

/* Two of them are in one batch of rows, at one time, and the third in the next. */
TEST(gather, mappings_that_move_are_followed)
{
	struct fixture fixture;
	const struct profile_allocation *rows;
	uint32_t numbers[3];

	begin(&fixture);
	for (int i = 0; i < 40; i++)
		add(&fixture, 16 + 16 * i, 1, 5);
	numbers[0] = map(&fixture, 100, 5, 0);
	unmap(&fixture, numbers[0], 5, true);
	numbers[1] = map(&fixture, 200, 5, numbers[0] + 1);
	heap_gather_flush(fixture.gather);
	unmap(&fixture, numbers[1], 8, true);
	numbers[2] = map(&fixture, 300, 8, numbers[1] + 1);
	map(&fixture, 400, 9, FORMER_UNKNOWN);
	heap_gather_flush(fixture.gather);
	rows = fixture.profile->heap.allocations;
	for (size_t i = 0; i < fixture.profile->heap.nr_allocations; i++) {
		uint64_t size = rows[i].size_bytes;
		uint32_t former = rows[i].former;

		assert_int_equal(rows[i].is_moved, size == 100 || size == 200);
		if (size == 200 || size == 300)
			assert_int_equal(rows[former - 1].size_bytes, size - 100);
		else
			assert_int_equal(former, size == 400 ? FORMER_UNKNOWN : 0);
	}
	end(&fixture);
}
