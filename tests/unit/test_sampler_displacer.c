// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sampler/displacer.h"

/* Two CPUs: where this test runs, and where the displacer is to come. */
struct fixture {
	struct displacer displacer;
	cpu_set_t before;
	int cpu;
};

static int first_cpu(const cpu_set_t *cpus, int from)
{
	while (from < CPU_SETSIZE && !CPU_ISSET((size_t)from, cpus))
		from++;
	return from;
}

static void begin(struct fixture *fixture)
{
	cpu_set_t own;
	int cpu;

	assert_int_equal(sched_getaffinity(0, sizeof(fixture->before), &fixture->before), 0);
	displacer_open(&fixture->displacer);
	if (!fixture->displacer.is_open || CPU_COUNT(&fixture->before) < 2) {
		displacer_close(&fixture->displacer);
		skip();
	}
	cpu = first_cpu(&fixture->before, 0);
	fixture->cpu = first_cpu(&fixture->before, cpu + 1);
	CPU_ZERO(&own);
	CPU_SET((size_t)cpu, &own);
	assert_int_equal(sched_setaffinity(0, sizeof(own), &own), 0);
}

static void end(struct fixture *fixture)
{
	displacer_close(&fixture->displacer);
	sched_setaffinity(0, sizeof(fixture->before), &fixture->before);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec pause = {.tv_nsec = (long)ns};

	nanosleep(&pause, NULL);
}

static void sleep_until(uint64_t at_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (at_ns > now_ns)
		sleep_ns(at_ns - now_ns);
}

/* A busy machine may keep us from looking while it is there: then another tick is tried. */
#define TRIES 200

/* It comes with one of some ticks; says since when it was there. */
static uint64_t awaited(struct fixture *fixture, uint64_t *tick_ns)
{
	uint64_t came_ns = 0;

	for (int i = 0; i < TRIES && !came_ns; i++) {
		*tick_ns = clock_monotonic_ns() + 2 * NS_PER_MS;
		displacer_arm(&fixture->displacer, fixture->cpu, *tick_ns);
		sleep_until(*tick_ns);
		came_ns = displacer_await(&fixture->displacer, fixture->cpu, *tick_ns);
		if (!came_ns)
			displacer_dismiss(&fixture->displacer);
	}
	return came_ns;
}

static void test_displacer__comes_to_a_cpu_with_a_tick(void **state)
{
	struct fixture fixture;
	uint64_t tick_ns, came_ns;
	cpu_set_t cpus;

	(void)state;
	begin(&fixture);
	came_ns = awaited(&fixture, &tick_ns);
	displacer_dismiss(&fixture.displacer);
	assert_true(came_ns >= tick_ns);
	assert_int_equal(pthread_getaffinity_np(fixture.displacer.thread, sizeof(cpus), &cpus), 0);
	assert_int_equal(CPU_COUNT(&cpus), 1);
	assert_true(CPU_ISSET((size_t)fixture.cpu, &cpus));
	end(&fixture);
}

static void test_displacer__comes_again_when_it_is_told_so_while_there(void **state)
{
	struct fixture fixture;
	uint64_t tick_ns, next_ns, came_ns;
	bool came_again = false;

	(void)state;
	begin(&fixture);
	for (int i = 0; i < TRIES && !came_again; i++) {
		came_ns = awaited(&fixture, &tick_ns);
		assert_true(came_ns > 0);
		next_ns = tick_ns + 2 * NS_PER_MS;
		displacer_arm(&fixture.displacer, fixture.cpu, next_ns);
		assert_true(displacer_is_due(&fixture.displacer, fixture.cpu, next_ns));
		sleep_until(next_ns);
		came_again = displacer_await(&fixture.displacer, fixture.cpu, next_ns) >= next_ns;
		displacer_dismiss(&fixture.displacer);
	}
	assert_true(came_again);
	end(&fixture);
}

static void test_displacer__leaves_by_itself(void **state)
{
	struct fixture fixture;
	uint64_t tick_ns;

	(void)state;
	begin(&fixture);
	assert_true(awaited(&fixture, &tick_ns) > 0);
	for (int i = 0; i < 1000 && displacer_is_there(&fixture.displacer); i++)
		sleep_ns(NS_PER_MS);
	assert_false(displacer_is_there(&fixture.displacer));
	assert_int_equal(displacer_await(&fixture.displacer, fixture.cpu, tick_ns), 0);
	end(&fixture);
}

static void test_displacer__is_not_awaited_for_what_it_was_not_armed_for(void **state)
{
	struct fixture fixture;
	uint64_t tick_ns;

	(void)state;
	begin(&fixture);
	tick_ns = clock_monotonic_ns() + 500 * NS_PER_MS;
	assert_int_equal(displacer_await(&fixture.displacer, fixture.cpu, tick_ns), 0);
	displacer_arm(&fixture.displacer, fixture.cpu, tick_ns);
	assert_true(displacer_is_due(&fixture.displacer, fixture.cpu, tick_ns));
	assert_int_equal(displacer_await(&fixture.displacer, fixture.cpu + 1, tick_ns), 0);
	assert_int_equal(displacer_await(&fixture.displacer, fixture.cpu, tick_ns + 1), 0);
	displacer_dismiss(&fixture.displacer);
	assert_false(displacer_is_due(&fixture.displacer, fixture.cpu, tick_ns));
	assert_int_equal(displacer_await(&fixture.displacer, fixture.cpu, tick_ns), 0);
	end(&fixture);
}

static void test_displacer__of_no_cpu_does_not_come(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	displacer_arm(&fixture.displacer, -1, 1);
	assert_false(displacer_is_due(&fixture.displacer, -1, 1));
	displacer_arm(&fixture.displacer, CPU_SETSIZE, 1);
	assert_false(displacer_is_due(&fixture.displacer, CPU_SETSIZE, 1));
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_displacer__comes_to_a_cpu_with_a_tick),
		cmocka_unit_test(test_displacer__comes_again_when_it_is_told_so_while_there),
		cmocka_unit_test(test_displacer__leaves_by_itself),
		cmocka_unit_test(test_displacer__is_not_awaited_for_what_it_was_not_armed_for),
		cmocka_unit_test(test_displacer__of_no_cpu_does_not_come),
	};

	return cmocka_run_group_tests_name("sampler/displacer", tests, NULL, NULL);
}
