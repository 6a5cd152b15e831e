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

/* The thread is looked at then, with so much CPU time behind it. */
#define LOOKED_NS (1000 * MS)
#define CPU_NS	  (80 * MS)

struct stop {
	struct sampler sampler;
	struct sampled_thread thread;
	struct snapshot snapshot;
	struct look_held held;
};

/* At a normal priority: asked to stop, it has left its CPU, and waited so long before it ran on. */
static struct stop *stop_after(uint64_t waited_ns, uint64_t late_ns, uint64_t noticed_ns)
{
	static struct stop stop;

	stop = (struct stop){
		.thread = {.looked_ns = LOOKED_NS,
			   .looked_late_ns = late_ns,
			   .looked_cpu_ns = CPU_NS,
			   .looked_pcount = 7,
			   .stopped_pcount = 8,
			   .found_awake = true,
			   .surely_ran = true,
			   .sure_cpu_ns = CPU_NS},
		.snapshot = {.time_ns = LOOKED_NS + noticed_ns, .cpu_ns = CPU_NS + 4 * US},
	};
	stop.held = (struct look_held){
		.thread = &stop.thread,
		.snapshot = &stop.snapshot,
		.waited_ns = waited_ns,
		.kind = SEEN_RUNNING,
	};
	return &stop;
}

static enum seen_state told(struct stop *stop)
{
	return look_kind_to_tell(&stop->sampler, &stop->held);
}

static void test_who_stays_on_its_cpu_ran(void **state)
{
	struct stop *stop = stop_after(0, 2 * MS, 30 * US);

	(void)state;
	stop->thread.stopped_pcount = stop->thread.looked_pcount;
	stop->thread.surely_ran = false;
	assert_int_equal(told(stop), SEEN_RUNNING);
	assert_true(stop->thread.surely_ran);
	assert_int_equal(stop->thread.sure_cpu_ns, CPU_NS + 4 * US);
}

static void test_who_is_displaced_by_a_tick_in_time_ran(void **state)
{
	(void)state;
	assert_int_equal(told(stop_after(60 * US, 15 * US, 70 * US)), SEEN_RUNNING);
}

/* We came when it, or another, gave up the CPU. */
static void test_who_is_displaced_by_a_late_tick_may_have_run_elsewhere(void **state)
{
	struct stop *stop = stop_after(60 * US, 300 * US, 70 * US);

	(void)state;
	assert_int_equal(told(stop), SEEN_RUNNABLE);
	assert_int_equal(stop->thread.sure_cpu_ns, CPU_NS);
}

/* Of what came before it was noticed, the wait may have been any part. */
static void test_wait_before_a_stop_noticed_late_may_have_begun_before(void **state)
{
	(void)state;
	assert_int_equal(told(stop_after(60 * US, 15 * US, 900 * US)), SEEN_RUNNABLE);
}

static void test_at_realtime_priority_nobody_keeps_us_waiting(void **state)
{
	struct stop *stop = stop_after(60 * US, 300 * US, 900 * US);

	(void)state;
	stop->sampler.placement.realtime = true;
	assert_int_equal(told(stop), SEEN_RUNNING);
}

static void test_where_nothing_is_sure_the_doubtful_will_do(void **state)
{
	struct stop *stop = stop_after(60 * US, 300 * US, 70 * US);

	(void)state;
	stop->thread.surely_ran = false;
	assert_int_equal(told(stop), SEEN_RUNNING);
	assert_false(stop->thread.surely_ran);
}

/* Of its time since it is counted. */
static void test_no_more_than_an_eighth_waits_for_a_sure_look(void **state)
{
	struct stop *stop = stop_after(60 * US, 300 * US, 70 * US);

	(void)state;
	stop->thread.sure_cpu_ns = stop->snapshot.cpu_ns - CPU_NS / 8;
	assert_int_equal(told(stop), SEEN_RUNNABLE);
	stop->thread.sure_cpu_ns -= MS;
	assert_int_equal(told(stop), SEEN_RUNNING);
	stop->thread.sure_cpu_ns += MS;
	stop->thread.counted_cpu_ns = CPU_NS / 2;
	assert_int_equal(told(stop), SEEN_RUNNING);
}

static void test_who_was_awake_at_the_look_was_not_asleep(void **state)
{
	struct stop *stop = stop_after(0, 0, 30 * US);

	(void)state;
	stop->held.kind = SEEN_BLOCKED;
	stop->sampler.placement.realtime = true;
	assert_int_equal(told(stop), SEEN_RUNNABLE);
	stop->thread.found_awake = false;
	assert_int_equal(told(stop), SEEN_BLOCKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_stays_on_its_cpu_ran),
		cmocka_unit_test(test_who_is_displaced_by_a_tick_in_time_ran),
		cmocka_unit_test(test_who_is_displaced_by_a_late_tick_may_have_run_elsewhere),
		cmocka_unit_test(test_wait_before_a_stop_noticed_late_may_have_begun_before),
		cmocka_unit_test(test_at_realtime_priority_nobody_keeps_us_waiting),
		cmocka_unit_test(test_where_nothing_is_sure_the_doubtful_will_do),
		cmocka_unit_test(test_no_more_than_an_eighth_waits_for_a_sure_look),
		cmocka_unit_test(test_who_was_awake_at_the_look_was_not_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
