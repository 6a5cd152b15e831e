// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

#define INTERVAL_NS (25 * NS_PER_MS)
#define MANY	    1000
#define FEW	    1

/* A thread after the looks at a new one, which are from beside whatever it does. */
struct watched {
	struct tracee tracee;
	struct sampled_thread thread;
};

static void watch(struct watched *watched, uint64_t faults_before)
{
	*watched = (struct watched){.tracee = {.nr_faults = faults_before}};
	watched->thread.tracee = &watched->tracee;
	beside_count_faults(&watched->thread);
}

static void runs(struct watched *watched, uint64_t nr_faults)
{
	watched->tracee.faults_cpu_ns += INTERVAL_NS;
	watched->tracee.nr_faults += nr_faults;
	beside_count_faults(&watched->thread);
}

/* For how many intervals without faults it is looked at from beside. */
static uint32_t lasts(struct watched *watched)
{
	uint32_t nr = 0;

	while (watched->thread.makes_faults && nr < 1000) {
		runs(watched, FEW);
		nr++;
	}
	return nr;
}

static void test_faults__before_the_first_look_say_nothing(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, 100 * MANY);
	runs(&watched, FEW);
	assert_int_equal(watched.thread.makes_faults, 0);
}

static void test_faults__of_one_phase_count_for_a_little_while(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, 0);
	runs(&watched, MANY);
	assert_int_equal(lasts(&watched), 4);
}

static void test_faults__of_one_long_phase_count_no_longer(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, 0);
	for (int i = 0; i < 10; i++)
		runs(&watched, MANY);
	assert_int_equal(lasts(&watched), 4);
}

static void test_faults__in_phases_count_for_ever_longer(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, 0);
	runs(&watched, MANY);
	lasts(&watched);
	runs(&watched, MANY);
	assert_int_equal(lasts(&watched), 16);
	runs(&watched, MANY);
	assert_int_equal(lasts(&watched), 40);
	runs(&watched, MANY);
	assert_int_equal(lasts(&watched), 40);
}

/* Of the next stops from elsewhere after which it is looked at from beside again; 0: never. */
static uint32_t stops_until_beside(struct sampled_thread *thread, uint32_t one_of)
{
	thread->from_elsewhere = true;
	for (uint32_t i = 1; i <= 20000; i++) {
		beside_count_stop(thread, i % one_of == 0);
		if (thread->nr_beside)
			return i;
	}
	return 0;
}

static uint32_t stops_of_new_until_beside(uint32_t one_of)
{
	struct sampled_thread thread = {0};

	return stops_until_beside(&thread, one_of);
}

static void test_calls__that_stops_from_elsewhere_meet_too_often_are_found(void **state)
{
	(void)state;
	/* A call each 0.2 ms is met in four of a hundred stops; it is one fiftieth of that long. */
	assert_in_range(stops_of_new_until_beside(10), 10, 200);
	assert_in_range(stops_of_new_until_beside(25), 25, 800);
	assert_in_range(stops_of_new_until_beside(40), 40, 2000);
	/* Of those each millisecond less is seen in the wrong place than it costs to be beside. */
	assert_int_equal(stops_of_new_until_beside(80), 0);
}

/* Seen from its own CPU one stop of so many is in a call. */
static struct sampled_thread seen_from_beside(uint32_t one_of)
{
	struct sampled_thread thread = {.nr_beside = 1024, .nr_beside_all = 1024};

	for (uint32_t i = 1; thread.nr_beside; i++)
		beside_count_stop(&thread, i % one_of == 0);
	return thread;
}

static void test_calls__that_it_is_in_are_no_error(void **state)
{
	struct sampled_thread thread = seen_from_beside(10);

	(void)state;
	assert_int_equal(stops_until_beside(&thread, 10), 0);
	thread = seen_from_beside(10);
	assert_in_range(stops_until_beside(&thread, 6), 1, 2000);
	assert_int_equal(thread.nr_beside, 2048);
}

/*
 * Of 100,000 looks, those from elsewhere: in so many of a thousand stops it is in a call, and in so
 * many when it is looked at from elsewhere, by chance.
 */
static uint32_t looks_from_elsewhere(uint32_t of_1000, uint32_t of_1000_from_elsewhere)
{
	struct sampled_thread thread = {.from_elsewhere = true};
	uint64_t random = 1;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		bool from_elsewhere = !thread.nr_beside;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		nr += from_elsewhere;
		beside_count_stop(&thread,
				  (random >> 33) % 1000 <
					  (from_elsewhere ? of_1000_from_elsewhere : of_1000));
	}
	return nr;
}

static void test_calls__are_found_whatever_its_own_are(void **state)
{
	static const uint32_t of_1000[] = {1, 20, 50, 100, 200, 300, 450, 700};

	(void)state;
	/* Half of the rest of its stops more: as of a database that reads a page each 20 us. */
	for (size_t i = 0; i < sizeof(of_1000) / sizeof(of_1000[0]); i++)
		assert_in_range(looks_from_elsewhere(of_1000[i], (1000 + of_1000[i]) / 2), 0, 2000);
	/* Six of a hundred more. */
	for (size_t i = 0; i < sizeof(of_1000) / sizeof(of_1000[0]); i++)
		assert_in_range(looks_from_elsewhere(of_1000[i], of_1000[i] + 60), 0, 10000);
}

static void test_calls__that_are_hardly_any_are_no_error(void **state)
{
	(void)state;
	assert_int_equal(looks_from_elsewhere(0, 0), 100000);
	assert_in_range(looks_from_elsewhere(10, 10), 90000, 100000);
}

static void test_calls__of_a_few_looks_are_not_relied_upon(void **state)
{
	struct sampled_thread thread = {.nr_beside = 64, .nr_beside_all = 64};

	(void)state;
	for (uint32_t i = 0; thread.nr_beside; i++)
		beside_count_stop(&thread, i % 2 == 0);
	assert_in_range(stops_until_beside(&thread, 2), 1, 50);
}

static void stops_at_once(struct sampled_thread *thread, int nr, int one_in_a_call_of)
{
	for (int i = 0; i < nr; i++) {
		thread->asked_at_once = true;
		beside_count_stop(thread, i % one_in_a_call_of == 0);
	}
}

/* Bursts of many calls show them for the code between, and are tried again later. */
static void test_calls__in_bursts_are_counted_by_themselves(void **state)
{
	struct tracee tracee = {0};
	struct sampled_thread thread = {.tracee = &tracee};
	int nr = 0;

	(void)state;
	beside_begin(&thread);
	stops_at_once(&thread, 1000, 20);
	assert_false(beside_calls_in_bursts(&thread));
	stops_at_once(&thread, 1000, 2);
	assert_true(beside_calls_in_bursts(&thread));
	assert_true(beside_is_better(&thread));
	for (; beside_calls_in_bursts(&thread) && nr < 10000; nr++)
		beside_count_stop(&thread, false);
	assert_in_range(nr, 256, 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls__in_bursts_are_counted_by_themselves),
		cmocka_unit_test(test_faults__before_the_first_look_say_nothing),
		cmocka_unit_test(test_faults__of_one_phase_count_for_a_little_while),
		cmocka_unit_test(test_faults__of_one_long_phase_count_no_longer),
		cmocka_unit_test(test_calls__that_stops_from_elsewhere_meet_too_often_are_found),
		cmocka_unit_test(test_calls__that_it_is_in_are_no_error),
		cmocka_unit_test(test_calls__are_found_whatever_its_own_are),
		cmocka_unit_test(test_calls__that_are_hardly_any_are_no_error),
		cmocka_unit_test(test_calls__of_a_few_looks_are_not_relied_upon),
		cmocka_unit_test(test_faults__in_phases_count_for_ever_longer),
	};

	return cmocka_run_group_tests_name("sampler/beside", tests, NULL, NULL);
}
