// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

#define MS NS_PER_MS
#define US NS_PER_US

/* The tick begins then, and looks at the thread, which is asked to stop a little later. */
#define TICK_NS	 (1000 * MS)
#define ASKED_NS (TICK_NS + 100 * US)

struct stop {
	struct sampler sampler;
	struct sampled_thread thread;
	struct snapshot snapshot;
	struct look_held held;
};

/* At real-time priority; of the time since the tick we have slept so much. */
static struct stop *stop_at(uint64_t let_go_ns, uint64_t slept_ns)
{
	static struct stop stop;

	stop = (struct stop){
		.sampler = {.tick_ns = TICK_NS, .tick_slept_ns = slept_ns},
		.thread = {.looked_ns = TICK_NS},
		.snapshot = {.time_ns = let_go_ns - 5 * US},
	};
	stop.sampler.placement.realtime = true;
	stop.held = (struct look_held){
		.thread = &stop.thread,
		.snapshot = &stop.snapshot,
		.asked_ns = ASKED_NS,
		.let_go_ns = let_go_ns,
		.kind = SEEN_RUNNING,
	};
	return &stop;
}

/* It stopped at once. */
static void test_stop_lasts_from_asking_to_letting_go(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 20 * US, 0);

	(void)state;
	stop->sampler.heard_ns = TICK_NS;
	look_count_cost(&stop->sampler, &stop->held);
	assert_int_equal(stop->sampler.counts.hold_ns.sum, 20 * US);
	assert_int_equal(stop->sampler.counts.cost_ns, 20 * US + GOVERNOR_WAKE_UP_NS);
	assert_int_equal(stop->thread.held_ns, 20 * US);
}

/* For what it did before it stopped, in the kernel, or for others who had its CPU. */
static void test_who_stops_late_has_not_stood_all_the_while(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 80 * MS, 80 * MS);

	(void)state;
	stop->sampler.heard_ns = ASKED_NS + 80 * MS - 20 * US;
	look_count_cost(&stop->sampler, &stop->held);
	assert_in_range(stop->sampler.counts.hold_ns.sum, 20 * US, 50 * US);
	assert_in_range(stop->thread.held_ns, 20 * US, 50 * US);
}

/* A thousand that wait for a CPU stop when they have it, and stand until others are served. */
static void test_who_waits_for_a_cpu_loses_no_time_of_it(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 80 * MS, 79 * MS);

	(void)state;
	stop->held.waited_ns = 200 * MS;
	stop->held.kind = SEEN_RUNNABLE;
	stop->sampler.heard_ns = ASKED_NS + 79 * MS;
	look_count_cost(&stop->sampler, &stop->held);
	assert_in_range(stop->sampler.counts.hold_ns.sum, 1 * MS, 1 * MS + 30 * US);
	assert_int_equal(stop->sampler.counts.cost_ns, GOVERNOR_WAKE_UP_NS);
}

/* What a later tick takes is not taken from it alone. */
static void test_cpu_time_of_another_tick_is_no_cost(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 80 * MS, 0);

	(void)state;
	stop->held.waited_ns = 79 * MS;
	stop->sampler.tick_ns = ASKED_NS + 70 * MS;
	stop->sampler.heard_ns = ASKED_NS + 80 * MS - 20 * US;
	look_count_cost(&stop->sampler, &stop->held);
	assert_in_range(stop->sampler.counts.hold_ns.sum, 20 * US, 50 * US);
}

static void test_wait_for_our_own_cpu_is_a_cost(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 420 * US, 20 * US);

	(void)state;
	stop->held.waited_ns = 400 * US;
	stop->sampler.heard_ns = ASKED_NS + 400 * US;
	look_count_cost(&stop->sampler, &stop->held);
	assert_in_range(stop->sampler.counts.hold_ns.sum, 400 * US, 440 * US);
	assert_in_range(stop->thread.held_ns, 20 * US, 30 * US);
}

/* From then on it stood until we came to it: that is not when its wait ended. */
static void test_stop_is_when_we_were_woken(void **state)
{
	struct stop *stop = stop_at(ASKED_NS + 5 * MS, 0);

	(void)state;
	stop->sampler.heard_ns = ASKED_NS + 2 * MS;
	assert_int_equal(look_stopped_ns(&stop->sampler, &stop->held), ASKED_NS + 2 * MS);
	stop->sampler.heard_ns = TICK_NS;
	assert_int_equal(look_stopped_ns(&stop->sampler, &stop->held), stop->snapshot.time_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_lasts_from_asking_to_letting_go),
		cmocka_unit_test(test_who_stops_late_has_not_stood_all_the_while),
		cmocka_unit_test(test_who_waits_for_a_cpu_loses_no_time_of_it),
		cmocka_unit_test(test_cpu_time_of_another_tick_is_no_cost),
		cmocka_unit_test(test_wait_for_our_own_cpu_is_a_cost),
		cmocka_unit_test(test_stop_is_when_we_were_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
