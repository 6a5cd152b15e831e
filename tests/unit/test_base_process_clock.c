// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process_clock.h"
#include "tests/unit/unit.h"

#define WORK_NS (30 * NS_PER_MS)

static uint64_t clock_of(pid_t pid)
{
	uint64_t ns = 0;

	assert_true(clock_process_cpu_ns(pid, &ns));
	return ns;
}

/* A process that works for so long each time it is written to, and then writes back. */
struct working {
	pid_t pid;
	int ask, answer;
};

static void work(uint64_t ns)
{
	uint64_t end_ns = clock_thread_cpu_ns() + ns;

	while (clock_thread_cpu_ns() < end_ns)
		continue;
}

static struct working start_working(void)
{
	struct working working;
	int ask[2], answer[2];
	char byte;

	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	working = (struct working){.pid = fork(), .ask = ask[1], .answer = answer[0]};
	assert_true(working.pid >= 0);
	if (working.pid == 0) {
		close(ask[1]);
		while (read(ask[0], &byte, 1) == 1) {
			work(WORK_NS);
			if (write(answer[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	return working;
}

static void have_it_work(const struct working *working)
{
	char byte = 0;

	assert_int_equal(write(working->ask, &byte, 1), 1);
	assert_int_equal(read(working->answer, &byte, 1), 1);
}

static void end(struct working *working)
{
	close(working->ask);
	close(working->answer);
	waitpid(working->pid, NULL, 0);
}

TEST(process_clock, goes_on_from_where_it_was)
{
	struct working working = start_working();
	struct process_clock clock = {0};
	uint64_t before_ns, kept_ns;

	have_it_work(&working);
	before_ns = clock_of(working.pid);
	assert_true(before_ns >= WORK_NS);
	process_clock_keep(&clock, working.pid);
	assert_true(clock.is_kept);
	kept_ns = clock_of(working.pid);
	assert_true(kept_ns >= before_ns);
	have_it_work(&working);
	assert_true(clock_of(working.pid) >= kept_ns + WORK_NS);
	kept_ns = clock_of(working.pid);
	process_clock_release(&clock);
	assert_false(clock.is_kept);
	have_it_work(&working);
	assert_true(clock_of(working.pid) >= kept_ns + WORK_NS);
	end(&working);
}

TEST(process_clock, does_without_who_is_gone)
{
	struct working working = start_working();
	struct process_clock clock = {0};

	process_clock_keep(&clock, working.pid);
	end(&working);
	process_clock_release(&clock);
	clock = (struct process_clock){0};
	process_clock_keep(&clock, working.pid);
	assert_false(clock.is_kept);
	process_clock_release(&clock);
}

static bool has_alarm_of(const struct clock_alarms *alarms, pid_t pid)
{
	pid_t pids[4];
	size_t nr = clock_alarms_take(alarms, pids, ARRAY_SIZE(pids));

	for (size_t i = 0; i < nr; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

TEST(process_clock, reports_that_a_process_has_begun_to_run)
{
	struct process_clock clock = {0}, of_other = {0};
	struct working working = start_working(), other = start_working();
	struct clock_alarms alarms;

	have_it_work(&working);
	have_it_work(&other);
	clock_alarms_open(&alarms);
	assert_true(alarms.most > 0);
	assert_true(process_clock_watch(&clock, working.pid, clock_of(working.pid)));
	assert_true(process_clock_watch(&of_other, other.pid, clock_of(other.pid)));
	have_it_work(&working);
	assert_true(has_alarm_of(&alarms, working.pid));
	assert_false(has_alarm_of(&alarms, working.pid));
	process_clock_expired(&clock);
	have_it_work(&working);
	assert_false(has_alarm_of(&alarms, working.pid));
	assert_true(process_clock_watch(&clock, working.pid, clock_of(working.pid)));
	have_it_work(&working);
	assert_true(has_alarm_of(&alarms, working.pid));
	/* The sum goes on to be kept afterwards. */
	process_clock_keep(&of_other, other.pid);
	assert_true(of_other.is_kept);
	have_it_work(&other);
	assert_true(has_alarm_of(&alarms, other.pid));
	process_clock_expired(&of_other);
	assert_true(of_other.is_kept);
	process_clock_release(&clock);
	process_clock_release(&of_other);
	clock_alarms_close(&alarms);
	end(&other); /* it has the other pipes as well */
	end(&working);
}

TEST(process_clock, has_no_alarm_of_a_process_that_sleeps)
{
	struct process_clock clock = {0};
	struct working working = start_working();
	struct clock_alarms alarms;

	have_it_work(&working);
	clock_alarms_open(&alarms);
	usleep(20 * 1000); /* it waits for the next byte by now */
	assert_true(process_clock_watch(&clock, working.pid, clock_of(working.pid)));
	usleep(50 * 1000);
	assert_false(has_alarm_of(&alarms, working.pid));
	process_clock_release(&clock);
	clock_alarms_close(&alarms);
	end(&working);
}
