// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/sampler_priv.h"

#define NR 30

/* Each number below NR once, in no order. */
static uint64_t due_of(size_t i)
{
	return (i * 7 + 11) % NR;
}

static void put_all(struct naps *naps, struct sampled_thread *threads)
{
	for (size_t i = 0; i < NR; i++)
		naps_put(naps, &threads[i], due_of(i));
}

static void test_naps__are_taken_in_the_order_of_their_times(void **state)
{
	struct sampled_thread threads[NR] = {0};
	struct naps naps = {0};

	(void)state;
	put_all(&naps, threads);
	for (uint64_t due = 0; due < NR; due++) {
		struct sampled_thread *thread = naps_take_due(&naps, NR);

		assert_non_null(thread);
		assert_int_equal(thread->nap_due_ns, due);
		assert_false(thread->naps);
	}
	assert_null(naps_take_due(&naps, NR));
	naps_release(&naps);
}

static void test_naps__none_is_taken_before_its_time(void **state)
{
	struct sampled_thread thread = {0};
	struct naps naps = {0};

	(void)state;
	naps_put(&naps, &thread, 10);
	assert_null(naps_take_due(&naps, 9));
	assert_ptr_equal(naps_take_due(&naps, 10), &thread);
	naps_release(&naps);
}

static void test_naps__one_that_is_put_again_has_its_new_time(void **state)
{
	struct sampled_thread threads[NR] = {0};
	struct naps naps = {0};
	uint64_t last_ns = 0;

	(void)state;
	put_all(&naps, threads);
	for (size_t i = 0; i < NR; i += 2)
		naps_put(&naps, &threads[i], NR - due_of(i));
	assert_int_equal(naps.nr, NR);
	for (size_t i = 0; i < NR; i++) {
		struct sampled_thread *thread = naps_take_due(&naps, NR);

		assert_non_null(thread);
		assert_true(thread->nap_due_ns >= last_ns);
		last_ns = thread->nap_due_ns;
	}
	naps_release(&naps);
}

static void test_naps__those_removed_are_not_taken(void **state)
{
	struct sampled_thread threads[NR] = {0};
	struct naps naps = {0};
	size_t nr_taken = 0;

	(void)state;
	put_all(&naps, threads);
	for (size_t i = 0; i < NR; i += 3) {
		naps_remove(&naps, &threads[i]);
		naps_remove(&naps, &threads[i]);
	}
	for (struct sampled_thread *thread; (thread = naps_take_due(&naps, NR)); nr_taken++)
		assert_int_not_equal((thread - threads) % 3, 0);
	assert_int_equal(nr_taken, NR - (NR + 2) / 3);
	naps_release(&naps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_naps__are_taken_in_the_order_of_their_times),
		cmocka_unit_test(test_naps__none_is_taken_before_its_time),
		cmocka_unit_test(test_naps__one_that_is_put_again_has_its_new_time),
		cmocka_unit_test(test_naps__those_removed_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
