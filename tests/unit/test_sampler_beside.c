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

/* Of the first stops from elsewhere after which it is looked at from beside again; 0: never. */
static uint32_t stops_until_beside(uint32_t one_of)
{
	struct sampled_thread thread = {.from_elsewhere = true};

	for (uint32_t i = 1; i <= 20000; i++) {
		beside_count_stop(&thread, i % one_of == 0);
		if (thread.nr_beside)
			return i;
	}
	return 0;
}

static void test_calls__that_stops_from_elsewhere_meet_too_often_are_found(void **state)
{
	(void)state;
	/* A call each 0.4 ms is met in two of a hundred stops; it is one fiftieth of that long. */
	assert_in_range(stops_until_beside(10), 10, 100);
	assert_in_range(stops_until_beside(40), 40, 400);
	assert_in_range(stops_until_beside(80), 80, 1000);
	assert_int_equal(stops_until_beside(300), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults__before_the_first_look_say_nothing),
		cmocka_unit_test(test_faults__of_one_phase_count_for_a_little_while),
		cmocka_unit_test(test_calls__that_stops_from_elsewhere_meet_too_often_are_found),
		cmocka_unit_test(test_faults__in_phases_count_for_ever_longer),
	};

	return cmocka_run_group_tests_name("sampler/beside", tests, NULL, NULL);
}
