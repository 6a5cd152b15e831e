// SPDX-License-Identifier: GPL-2.0-or-later
/* The reading end of the ring, whatever the writing end does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/heap_ring.h"

#define RECORD_BYTES 192 /* of those without a stack, to a multiple of 64 */

struct bench {
	struct heap_shared *shared;
	struct heap_ring ring;
};

static void begin(struct bench *bench, uint64_t at)
{
	bench->shared = aligned_alloc(4096, sizeof(*bench->shared));
	assert_non_null(bench->shared);
	memset(bench->shared, 0, sizeof(*bench->shared));
	bench->shared->head = bench->shared->tail = at;
	heap_ring_init(&bench->ring, bench->shared);
}

static void end(struct bench *bench)
{
	free(bench->shared);
}

static struct heap_ring_record *reserve(struct bench *bench, uint32_t nr_bytes, uint64_t *position)
{
	struct heap_ring_record *record;

	*position = bench->shared->head;
	record = (struct heap_ring_record *)(void *)&bench->shared
			 ->ring[*position % HEAP_RING_BYTES];
	bench->shared->head += nr_bytes;
	return record;
}

static void add(struct bench *bench, uint64_t pointer)
{
	uint64_t position;
	struct heap_ring_record *record = reserve(bench, RECORD_BYTES, &position);

	*record = (struct heap_ring_record){.nr_bytes = RECORD_BYTES,
					    .kind = HEAP_RECORD_ALLOCATION,
					    .pointer = pointer,
					    .rip = 16,
					    .r12 = 12,
					    .commit = position ^ HEAP_COMMIT_KEY};
}

static void assert_next(struct bench *bench, uint64_t now_ns, uint64_t pointer)
{
	struct heap_record record;

	assert_true(heap_ring_next(&bench->ring, now_ns, &record));
	assert_int_equal(record.pointer, pointer);
}

static void assert_none(struct bench *bench, uint64_t now_ns)
{
	struct heap_record record;

	assert_false(heap_ring_next(&bench->ring, now_ns, &record));
}

static void test_ring__records_come_in_order_and_free_their_room(void **state)
{
	struct bench bench;
	struct heap_record record;

	(void)state;
	begin(&bench, 0);
	add(&bench, 1);
	add(&bench, 2);
	assert_next(&bench, 1, 1);
	assert_int_equal(bench.shared->tail, 0); /* its stack may be looked at */
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.regs.value[16], 16);
	assert_int_equal(record.regs.value[12], 12);
	assert_none(&bench, 1); /* then all of it is told at once */
	assert_int_equal(bench.shared->tail, bench.shared->head);
	end(&bench);
}

static void test_ring__what_is_never_ended_is_passed_after_a_second(void **state)
{
	struct bench bench;
	uint64_t position;

	(void)state;
	begin(&bench, 64);
	reserve(&bench, RECORD_BYTES, &position);
	add(&bench, 2);
	assert_none(&bench, NS_PER_SEC);
	assert_none(&bench, 2 * NS_PER_SEC - 1);
	assert_next(&bench, 2 * NS_PER_SEC, 2);
	assert_int_equal(bench.ring.nr_lost, 1);
	/* One behind which nothing is. */
	reserve(&bench, RECORD_BYTES, &position);
	assert_none(&bench, 3 * NS_PER_SEC);
	assert_none(&bench, 5 * NS_PER_SEC);
	assert_int_equal(bench.ring.nr_lost, 2);
	add(&bench, 3);
	assert_next(&bench, 5 * NS_PER_SEC, 3);
	end(&bench);
}

static void test_ring__goes_around_its_end(void **state)
{
	struct bench bench;
	uint64_t position;
	struct heap_ring_record *skip;

	(void)state;
	begin(&bench, 3 * HEAP_RING_BYTES - 64);
	skip = reserve(&bench, 64, &position);
	skip->nr_bytes = 64;
	skip->kind = HEAP_RECORD_SKIP;
	skip->commit = position ^ HEAP_COMMIT_KEY;
	add(&bench, 7);
	assert_next(&bench, 1, 7);
	assert_none(&bench, 1);
	end(&bench);
}

/* The target may write anything: it is passed, and nothing beyond the ring is read. */
static void test_ring__nonsense_is_passed(void **state)
{
	static const struct heap_ring_record nonsense[] = {
		{.nr_bytes = 0},
		{.nr_bytes = 100},
		{.nr_bytes = 64},
		{.nr_bytes = UINT32_MAX & ~63u},
		{.nr_bytes = RECORD_BYTES, .kind = HEAP_RECORD_KIND_COUNT},
		{.nr_bytes = RECORD_BYTES, .kind = HEAP_RECORD_SKIP},
		{.nr_bytes = RECORD_BYTES, .function = HEAP_FUNCTION_COUNT},
		{.nr_bytes = RECORD_BYTES, .nr_stack_bytes = RECORD_BYTES},
		{.nr_bytes = RECORD_BYTES, .nr_stack_bytes = UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		struct bench bench;
		uint64_t position;
		struct heap_ring_record *record;

		begin(&bench, HEAP_RING_BYTES - 4 * RECORD_BYTES);
		record = reserve(&bench, RECORD_BYTES, &position);
		*record = nonsense[i];
		record->commit = position ^ HEAP_COMMIT_KEY;
		add(&bench, 5);
		assert_next(&bench, 1, 5);
		assert_int_equal(bench.ring.nr_lost, 1);
		end(&bench);
	}
}

static void test_ring__a_head_beyond_all_is_not_followed(void **state)
{
	struct bench bench;

	(void)state;
	begin(&bench, 0);
	bench.shared->head = UINT64_C(1) << 62;
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_lost, 1);
	add(&bench, 4);
	assert_next(&bench, 1, 4);
	bench.shared->head += 1; /* where no record can end */
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_lost, 2);
	end(&bench);
}

static void test_ring__totals_are_what_countdowns_have_passed(void **state)
{
	struct bench bench;
	struct heap_totals totals;

	(void)state;
	begin(&bench, 0);
	/* 1000 bytes were given; 3 allocations of 100 bytes in all have come off. */
	bench.shared->slots[0].given_bytes = 1000;
	bench.shared->slots[0].countdown = ((int64_t)900 << HEAP_COUNT_LOG2) - 3;
	/* Below zero, while a thread is inside. */
	bench.shared->slots[7].given_bytes = 50;
	bench.shared->slots[7].nr_allocations = 10;
	bench.shared->slots[7].countdown = -((int64_t)20 << HEAP_COUNT_LOG2) - 1 - HEAP_INSIDE;
	bench.shared->nr_dropped = 4;
	heap_ring_totals(&bench.ring, &totals);
	assert_int_equal(totals.allocated_bytes, 100 + 70);
	assert_int_equal(totals.nr_allocations, 3 + 11);
	assert_int_equal(totals.nr_dropped, 4);
	end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring__records_come_in_order_and_free_their_room),
		cmocka_unit_test(test_ring__what_is_never_ended_is_passed_after_a_second),
		cmocka_unit_test(test_ring__goes_around_its_end),
		cmocka_unit_test(test_ring__nonsense_is_passed),
		cmocka_unit_test(test_ring__a_head_beyond_all_is_not_followed),
		cmocka_unit_test(test_ring__totals_are_what_countdowns_have_passed),
	};

	return cmocka_run_group_tests_name("probe heap ring", tests, NULL, NULL);
}
