// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sampler/sampler_priv.h"

#define GAP_NS NS_PER_MS

/* A timer that is lost makes the wait last for ever, which ends the test. */
#define TOO_LONG_S 20

/* Wait as the sampling thread does: who is woken early waits once more. */
static void wait_until(struct alarm *alarm, uint64_t at_ns)
{
	while (clock_monotonic_ns() < at_ns)
		assert_int_equal(alarm_wait(alarm, at_ns), 0);
}

static void test_alarm__wakes_each_time_with_the_next_one_set_behind(void **state)
{
	struct alarm alarm;
	uint64_t at_ns;

	(void)state;
	alarm_open(&alarm);
	assert_true(alarm.is_open);
	at_ns = clock_monotonic_ns() + GAP_NS;
	for (int i = 0; i < 50; i++, at_ns += GAP_NS) {
		alarm_set(&alarm, at_ns);
		alarm_set_behind(&alarm, at_ns + GAP_NS);
		wait_until(&alarm, at_ns);
	}
	alarm_close(&alarm);
}

static void test_alarm__wakes_when_what_was_set_behind_has_changed(void **state)
{
	struct alarm alarm;
	uint64_t at_ns;

	(void)state;
	alarm_open(&alarm);
	at_ns = clock_monotonic_ns() + GAP_NS;
	for (int i = 0; i < 50; i++) {
		alarm_set(&alarm, at_ns);
		alarm_set_behind(&alarm, at_ns + 1000 * GAP_NS);
		wait_until(&alarm, at_ns);
		/* One that is far off is no reason to sleep so long. */
		at_ns += GAP_NS / 4 + GAP_NS * (uint64_t)(i % 3);
	}
	alarm_close(&alarm);
}

static void test_alarm__wakes_on_whatever_cpu(void **state)
{
	struct alarm alarm;
	cpu_set_t all, one;
	uint64_t at_ns;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	alarm_open(&alarm);
	at_ns = clock_monotonic_ns() + GAP_NS;
	for (size_t cpu = 0; cpu < 8; cpu++, at_ns += GAP_NS) {
		alarm_set(&alarm, at_ns);
		alarm_set_behind(&alarm, at_ns + GAP_NS);
		CPU_ZERO(&one);
		CPU_SET(cpu % 2, &one);
		CPU_AND(&one, &one, &all);
		if (CPU_COUNT(&one))
			sched_setaffinity(0, sizeof(one), &one);
		wait_until(&alarm, at_ns);
	}
	sched_setaffinity(0, sizeof(all), &all);
	alarm_close(&alarm);
}

/* Each timer counts as a signal that is queued. */
static void test_alarm__wakes_where_no_timer_may_be_had(void **state)
{
	struct rlimit before, none;
	struct alarm alarm;
	uint64_t at_ns;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &before), 0);
	none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	alarm_open(&alarm);
	assert_false(alarm.is_open);
	at_ns = clock_monotonic_ns() + GAP_NS;
	alarm_set(&alarm, at_ns);
	alarm_set_behind(&alarm, at_ns + GAP_NS);
	wait_until(&alarm, at_ns);
	alarm_close(&alarm);
	assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &before), 0);
}

static void test_alarm__names_the_child(void **state)
{
	struct alarm alarm;
	pid_t child;

	(void)state;
	alarm_open(&alarm);
	alarm_set(&alarm, clock_monotonic_ns() + TOO_LONG_S * NS_PER_SEC);
	child = fork();
	if (child == 0)
		_exit(0);
	assert_int_equal(alarm_wait(&alarm, clock_monotonic_ns() + TOO_LONG_S * NS_PER_SEC), child);
	alarm_close(&alarm);
}

/* One tick after the other, each slept for and nothing else. */
static void sleep_for_ticks(struct alarm *alarm, int nr)
{
	for (int i = 0; i < nr; i++)
		wait_until(alarm, clock_monotonic_ns() + GAP_NS);
}

static void test_alarm__sleeps_on_after_many_undisturbed_waits(void **state)
{
	struct alarm alarm;
	uint64_t at_ns;
	pid_t child;

	(void)state;
	alarm_open(&alarm);
	sleep_for_ticks(&alarm, 20);
	child = fork();
	if (child == 0)
		_exit(0);
	assert_int_equal(alarm_wait(&alarm, clock_monotonic_ns() + TOO_LONG_S * NS_PER_SEC), child);
	sleep_for_ticks(&alarm, 20);
	/* One that is set ahead, as where stops are slept for, wakes as ever. */
	at_ns = clock_monotonic_ns() + GAP_NS;
	alarm_set(&alarm, at_ns);
	alarm_set_behind(&alarm, at_ns + GAP_NS);
	wait_until(&alarm, at_ns);
	wait_until(&alarm, at_ns + GAP_NS);
	alarm_close(&alarm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alarm__wakes_each_time_with_the_next_one_set_behind),
		cmocka_unit_test(test_alarm__wakes_when_what_was_set_behind_has_changed),
		cmocka_unit_test(test_alarm__wakes_on_whatever_cpu),
		cmocka_unit_test(test_alarm__wakes_where_no_timer_may_be_had),
		cmocka_unit_test(test_alarm__names_the_child),
		cmocka_unit_test(test_alarm__sleeps_on_after_many_undisturbed_waits),
	};

	alarm(TOO_LONG_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
