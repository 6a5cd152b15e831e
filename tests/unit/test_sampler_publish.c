// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "sampler/publish_priv.h"
#include "sampler/records.h"
#include "sampler/sampler_priv.h"
#include "tests/unit/unit.h"

#define SEEN_NS	 (100 * NS_PER_MS)
#define ENDED_NS (300 * NS_PER_MS)

/* Asleep since its seventh time on a CPU, after 20 ms of work and 10 of waiting. */
static struct sampled_thread sleeper(void)
{
	return (struct sampled_thread){.sleep = {.is_known = true,
						 .is_asleep = true,
						 .pcount = 7,
						 .until_ns = SEEN_NS,
						 .cpu_ns = 20 * NS_PER_MS,
						 .runq_ns = 10 * NS_PER_MS}};
}

static uint64_t slept_until_ns(const struct proc_schedstat *clocks)
{
	static struct sampler sampler;
	struct sampled_thread thread = sleeper();

	sampler.governor.base_period_ns = 2 * NS_PER_MS;
	publish_may_sleep_on(&sampler, &thread, clocks, ENDED_NS);
	assert_true(thread.sleep.is_over);
	return thread.sleep.until_ns;
}

TEST(publish, thread_that_did_not_wake_slept_to_the_end)
{
	struct proc_schedstat clocks = {
		.cpu_ns = 20 * NS_PER_MS, .runq_ns = 10 * NS_PER_MS, .pcount = 7};

	assert_int_equal(slept_until_ns(&clocks), ENDED_NS);
}

/* 200 ms, less 60 of work and 20 of waiting for a CPU, in three sleeps. */
TEST(publish, sleeps_between_looks_are_as_long_as_one_another)
{
	struct proc_schedstat clocks = {
		.cpu_ns = 80 * NS_PER_MS, .runq_ns = 30 * NS_PER_MS, .pcount = 9};

	assert_int_equal(slept_until_ns(&clocks), SEEN_NS + 40 * NS_PER_MS);
}

/* A thread that executes a program has the id of its leader from then on, and its own clocks. */
TEST(publish, clocks_of_another_thread_with_its_id_are_ignored)
{
	struct proc_schedstat clocks = {.cpu_ns = NS_PER_MS, .runq_ns = 0, .pcount = 6};

	assert_int_equal(slept_until_ns(&clocks), SEEN_NS);
	clocks.pcount = 1;
	assert_int_equal(slept_until_ns(&clocks), SEEN_NS);
}

static uint64_t slept_while_quiet(uint64_t from_ns, uint64_t waited_ns)
{
	static struct sampler sampler;
	struct sampled_process process = {.quiet_since_ns = SEEN_NS, .quiet_until_ns = ENDED_NS};
	struct sampled_thread thread = sleeper();
	struct proc_schedstat clocks = {
		.cpu_ns = 20 * NS_PER_MS, .runq_ns = 10 * NS_PER_MS + waited_ns, .pcount = 8};

	sampler.governor.base_period_ns = 2 * NS_PER_MS;
	thread.process = &process;
	thread.sleep.from_ns = from_ns;
	publish_slept_while_quiet(&sampler, &thread, &clocks);
	assert_int_equal(thread.sleep.sure_ns,
			 thread.sleep.until_ns == SEEN_NS ? 0 : thread.sleep.until_ns);
	return thread.sleep.until_ns;
}

/* Its process had no CPU, but it may have been waiting for one. */
TEST(publish, waiting_for_a_cpu_is_not_sleep)
{
	assert_int_equal(slept_while_quiet(0, 0), ENDED_NS);
	assert_int_equal(slept_while_quiet(0, 50 * NS_PER_MS), ENDED_NS - 50 * NS_PER_MS);
	assert_int_equal(slept_while_quiet(0, 250 * NS_PER_MS), SEEN_NS);
}

/* Else long sleeps, which are seen more often, would get more than they have. */
TEST(publish, the_tail_of_a_short_sleep_is_left_to_the_next)
{
	assert_int_equal(slept_while_quiet(SEEN_NS - 50 * NS_PER_MS, 0), SEEN_NS);
}
