// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/account.h"
#include "tests/unit/unit.h"

static const struct account_losses none;

static struct account_clocks at(uint64_t time_ns, uint64_t cpu_ns, uint64_t runq_ns)
{
	return (struct account_clocks){.time_ns = time_ns, .cpu_ns = cpu_ns, .runq_ns = runq_ns};
}

static void check(struct account_weights got, uint64_t cpu_ns, uint64_t runq_ns,
		  uint64_t blocked_ns)
{
	assert_int_equal(got.cpu_ns, cpu_ns);
	assert_int_equal(got.runq_ns, runq_ns);
	assert_int_equal(got.blocked_ns, blocked_ns);
}

TEST(account, running_takes_what_ran_since_the_last_sample)
{
	struct account account;
	struct account_clocks start = at(1000, 50, 5);
	struct account_clocks first = at(1100, 140, 15);
	struct account_clocks second = at(1200, 240, 15);

	account_start(&account, &start);
	check(account_seen(&account, SEEN_RUNNING, &first, &none), 90, 10, 0);
	check(account_seen(&account, SEEN_RUNNING, &second, &none), 100, 0, 0);
	check(account_rest(&account, &second), 0, 0, 0);
}

TEST(account, carries_cpu_over_sleeping_samples)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks asleep = at(100, 30, 10);
	struct account_clocks running = at(200, 90, 10);

	account_start(&account, &start);
	check(account_seen(&account, SEEN_BLOCKED, &asleep, &none), 0, 0, 60);
	check(account_seen(&account, SEEN_RUNNING, &running, &none), 90, 10, 0);
	/* The 40 ns off the CPU before it was seen running are unattributed yet. */
	check(account_rest(&account, &running), 0, 0, 40);
}

TEST(account, proven_sleep_takes_no_time_beyond_the_proof)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks asleep = at(10, 10, 0);
	struct account_clocks running = at(1000, 100, 0);

	account_start(&account, &start);
	check(account_seen(&account, SEEN_BLOCKED, &asleep, &none), 0, 0, 0);
	assert_int_equal(account_blocked_until(&account, 810), 800);
	check(account_seen(&account, SEEN_RUNNING, &running, &none), 100, 0, 0);
	check(account_rest(&account, &running), 0, 0, 100);
}

TEST(account, time_held_is_in_no_sample)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks running = at(100, 80, 0);
	struct account_losses held = {.held_ns = 20};

	account_start(&account, &start);
	check(account_seen(&account, SEEN_RUNNING, &running, &held), 80, 0, 0);
	check(account_rest(&account, &running), 0, 0, 0);
}

TEST(account, time_never_seen_running_is_the_rest)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks asleep = at(100, 1, 0);
	struct account_clocks end = at(200, 3, 1);

	account_start(&account, &start);
	check(account_seen(&account, SEEN_BLOCKED, &asleep, &none), 0, 0, 99);
	check(account_rest(&account, &end), 3, 1, 97);
}

TEST(account, clocks_that_step_back_hand_out_nothing_twice)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks ahead = at(100, 100, 0);
	struct account_clocks behind = at(110, 95, 0);
	struct account_clocks end = at(200, 150, 0);
	uint64_t cpu_ns = 0;

	account_start(&account, &start);
	cpu_ns += account_seen(&account, SEEN_RUNNING, &ahead, &none).cpu_ns;
	cpu_ns += account_seen(&account, SEEN_RUNNING, &behind, &none).cpu_ns;
	cpu_ns += account_rest(&account, &end).cpu_ns;
	assert_int_equal(cpu_ns, 150);
}

TEST(account, runnable_takes_no_cpu_time)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks waiting = at(100, 30, 70);
	struct account_clocks running = at(150, 80, 70);

	account_start(&account, &start);
	check(account_seen(&account, SEEN_RUNNABLE, &waiting, &none), 0, 70, 0);
	check(account_seen(&account, SEEN_RUNNING, &running, &none), 80, 0, 0);
}

TEST(account, stolen_time_is_a_wait_and_no_sleep)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks running = at(1000, 300, 100);
	struct account_clocks asleep = at(2000, 400, 100);
	struct account_losses losses = {.stolen_ns = 600};

	account_start(&account, &start);
	check(account_seen(&account, SEEN_RUNNING, &running, &losses), 300, 700, 0);
	check(account_seen(&account, SEEN_BLOCKED, &asleep, &none), 0, 0, 900);
}

TEST(account, no_more_is_stolen_than_there_was)
{
	struct account account;
	struct account_clocks start = at(0, 0, 0);
	struct account_clocks first = at(100, 60, 0);
	struct account_clocks second = at(200, 130, 0);
	struct account_losses losses = {.held_ns = 30, .stolen_ns = 50};

	account_start(&account, &start);
	check(account_seen(&account, SEEN_RUNNING, &first, &losses), 60, 10, 0);
	check(account_seen(&account, SEEN_RUNNABLE, &second, &losses), 0, 0, 0);
	check(account_rest(&account, &second), 70, 0, 0);
}

/* Whatever is seen in whatever order, all of the kernel's time is handed out, once. */
TEST(account, totals_are_the_kernels)
{
	struct account account;
	struct account_clocks clocks = at(5, 7, 9);
	struct account_weights sum = {0};
	uint64_t random = 88172645463325252u;

	account_start(&account, &clocks);
	for (int i = 0; i < 1000; i++) {
		struct account_weights got;
		uint64_t cpu_ns = (random >> 8) % 100;
		uint64_t runq_ns = (random >> 16) % 10;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		clocks.cpu_ns += cpu_ns;
		clocks.runq_ns += runq_ns;
		clocks.time_ns += cpu_ns + runq_ns + (random >> 24) % 50;
		got = random & 1 ? account_seen(&account, SEEN_RUNNING, &clocks, &none)
				 : account_seen(&account, SEEN_BLOCKED, &clocks, &none);
		sum.cpu_ns += got.cpu_ns;
		sum.runq_ns += got.runq_ns;
		sum.blocked_ns += got.blocked_ns;
	}
	{
		struct account_weights rest = account_rest(&account, &clocks);

		sum.cpu_ns += rest.cpu_ns;
		sum.runq_ns += rest.runq_ns;
		sum.blocked_ns += rest.blocked_ns;
	}
	assert_int_equal(sum.cpu_ns, clocks.cpu_ns - 7);
	assert_int_equal(sum.runq_ns, clocks.runq_ns - 9);
	assert_int_equal(sum.cpu_ns + sum.runq_ns + sum.blocked_ns, clocks.time_ns - 5);
}
