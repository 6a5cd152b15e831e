// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/wake_order.h"
#include "tests/unit/unit.h"

/* futex(2), private */
enum {
	WAIT = 0x80,
	WAKE = 0x81,
	REQUEUE = 0x83,
	WAKE_OP = 0x85,
	WAIT_BITS = 0x89,
	SHARED_WAIT = 0
};

#define WORD	   0x1000
#define OTHER_WORD 0x2000
#define ENDED_MAX  16

struct fixture {
	struct wake_order *order;
	uint64_t time;
	struct wake_ended ended[ENDED_MAX];
	size_t nr;
};

static void note_ended(void *context, const struct wake_ended *ended)
{
	struct fixture *fixture = context;

	assert_true(fixture->nr < ENDED_MAX);
	fixture->ended[fixture->nr++] = *ended;
}

static void call(struct fixture *fixture, uint32_t process, uint32_t tid, uint32_t operation,
		 uint64_t word, uint32_t value)
{
	const struct patch_note note = {.time = ++fixture->time,
					.word = word,
					.other_word = OTHER_WORD,
					.caller = 0x4000 + tid,
					.operation = operation,
					.value = value,
					.other_value = 8,
					.tid = tid};

	wake_order_add(fixture->order, process, &note, note_ended, fixture);
}

static void expect(const struct fixture *fixture, size_t index, uint32_t tid, uint32_t waker)
{
	assert_true(index < fixture->nr);
	assert_int_equal(fixture->ended[index].tid, tid);
	assert_int_equal(fixture->ended[index].waker, waker);
	assert_int_equal(fixture->ended[index].caller, 0x4000 + waker);
	assert_true(fixture->ended[index].from < fixture->ended[index].to);
}

TEST(wake_order, wakes_who_has_waited_longest)
{
	struct fixture fixture = {.order = wake_order_new()};

	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 12, WAIT_BITS, WORD, 0);
	call(&fixture, 1, 13, WAIT, OTHER_WORD, 0);
	call(&fixture, 1, 14, WAIT, WORD, 0);
	call(&fixture, 1, 15, WAKE, WORD, 1);
	call(&fixture, 1, 16, WAKE, WORD, UINT32_MAX >> 1);
	call(&fixture, 1, 17, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 3);
	expect(&fixture, 0, 11, 15);
	expect(&fixture, 1, 12, 16);
	expect(&fixture, 2, 14, 16);
	wake_order_free(fixture.order);
}

/* It is asked after and taken out when its time is up. */
TEST(wake_order, wait_whose_time_is_up_takes_no_wake)
{
	struct fixture fixture = {.order = wake_order_new()};
	uint64_t from = 0;

	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 12, WAIT, WORD, 0);
	assert_true(wake_order_waits(fixture.order, 1, 11, WORD, &from) && from == 1);
	assert_false(wake_order_waits(fixture.order, 1, 11, OTHER_WORD, &from));
	assert_false(wake_order_waits(fixture.order, 2, 11, WORD, &from));
	assert_false(wake_order_waits(fixture.order, 1, 13, WORD, &from));
	wake_order_take_out(fixture.order, 1, 11);
	wake_order_take_out(fixture.order, 1, 13);
	assert_false(wake_order_waits(fixture.order, 1, 11, WORD, &from));
	assert_false(wake_order_waits(fixture.order, 1, 11, 0, &from));
	call(&fixture, 1, 13, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 1);
	expect(&fixture, 0, 12, 13);
	wake_order_free(fixture.order);
}

/* It has ended by time, by a signal, or at once, and takes no wake of others. */
TEST(wake_order, wait_is_over_when_its_thread_makes_another_call)
{
	struct fixture fixture = {.order = wake_order_new()};

	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 12, WAIT, WORD, 0);
	call(&fixture, 1, 11, WAIT, OTHER_WORD, 0);
	call(&fixture, 1, 13, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 1);
	expect(&fixture, 0, 12, 13);
	/* Again, it waits after the others. */
	call(&fixture, 1, 12, WAIT, WORD, 0);
	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 12, WAIT, WORD, 0);
	call(&fixture, 1, 13, WAKE, WORD, 1);
	expect(&fixture, 1, 11, 13);
	wake_order_free(fixture.order);
}

TEST(wake_order, requeued_waits_are_ended_at_the_other_word)
{
	struct fixture fixture = {.order = wake_order_new()};

	for (uint32_t tid = 11; tid < 14; tid++)
		call(&fixture, 1, tid, WAIT, WORD, 0);
	call(&fixture, 1, 20, REQUEUE, WORD, 1);
	call(&fixture, 1, 21, WAKE, WORD, 9);
	call(&fixture, 1, 22, WAKE, OTHER_WORD, 9);
	assert_int_equal(fixture.nr, 3);
	expect(&fixture, 0, 11, 20);
	expect(&fixture, 1, 12, 22);
	expect(&fixture, 2, 13, 22);
	wake_order_free(fixture.order);
}

/* Invented calls could have all threads moved to and fro for ever. */
TEST(wake_order, threads_that_are_moved_too_often_are_lost)
{
	struct fixture fixture = {.order = wake_order_new()};

	for (uint32_t tid = 11; tid < 23; tid++)
		call(&fixture, 1, tid, WAIT, WORD, 0);
	for (int i = 0; i < 20; i++) {
		const struct patch_note note = {.time = ++fixture.time,
						.word = i % 2 ? OTHER_WORD : WORD,
						.other_word = i % 2 ? WORD : OTHER_WORD,
						.operation = REQUEUE,
						.other_value = 100,
						.tid = 30};

		wake_order_add(fixture.order, 1, &note, note_ended, &fixture);
	}
	call(&fixture, 1, 31, WAKE, WORD, 100);
	call(&fixture, 1, 31, WAKE, OTHER_WORD, 100);
	assert_true(fixture.nr < 8);
	/* Others are known as before. */
	fixture.nr = 0;
	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 31, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 1);
	wake_order_free(fixture.order);
}

/* Whether it wakes those as well depends on what is in memory. */
TEST(wake_order, second_word_of_a_conditional_wake_is_not_known_any_more)
{
	struct fixture fixture = {.order = wake_order_new()};

	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 1, 12, WAIT, OTHER_WORD, 0);
	call(&fixture, 1, 20, WAKE_OP, WORD, 1);
	call(&fixture, 1, 21, WAKE, OTHER_WORD, 1);
	assert_int_equal(fixture.nr, 1);
	expect(&fixture, 0, 11, 20);
	wake_order_free(fixture.order);
}

TEST(wake_order, words_of_processes_differ_and_shared_ones_are_left_out)
{
	struct fixture fixture = {.order = wake_order_new()};

	call(&fixture, 1, 11, WAIT, WORD, 0);
	call(&fixture, 2, 12, WAKE, WORD, 1);
	call(&fixture, 1, 13, SHARED_WAIT, OTHER_WORD, 0);
	call(&fixture, 1, 14, WAKE, OTHER_WORD, 1);
	assert_int_equal(fixture.nr, 0);
	wake_order_forget(fixture.order);
	call(&fixture, 1, 15, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 0);
	wake_order_free(fixture.order);
}

/* As many as a process may invent. */
TEST(wake_order, invented_threads_and_words_take_bounded_memory)
{
	struct fixture fixture = {.order = wake_order_new()};

	for (uint32_t i = 1; i < 1000000; i++)
		call(&fixture, 1, i * 2654435761u, WAIT, UINT64_C(0x9e3779b97f4a7c15) * i, 0);
	call(&fixture, 1, 7, WAIT, WORD, 0);
	call(&fixture, 1, 8, WAKE, WORD, 1);
	assert_int_equal(fixture.nr, 1);
	wake_order_free(fixture.order);
}
