// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/cpu_clocks.h"

/* One that this process may run on. */
static int some_cpu(void)
{
	cpu_set_t allowed;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	while (!CPU_ISSET((size_t)cpu, &allowed))
		cpu++;
	return cpu;
}

/* Sleeps there from right after the time that it tells. */
static pid_t start_sleeper(int cpu, uint64_t *told_ns)
{
	cpu_set_t cpus;
	int ends[2];
	pid_t pid;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		uint64_t now_ns;

		sched_setaffinity(0, sizeof(cpus), &cpus);
		now_ns = clock_monotonic_ns();
		if (write(ends[1], &now_ns, sizeof(now_ns)) == sizeof(now_ns))
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], told_ns, sizeof(*told_ns)), sizeof(*told_ns));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void await_sleep(pid_t pid)
{
	struct proc_stat stat = {0};

	while (stat.state != 'S')
		assert_true(proc_read_task_stat(pid, pid, &stat));
}

static void test_cpu_clocks__tell_when_a_process_went_to_sleep(void **state)
{
	struct cpu_clocks *clocks = cpu_clocks_new();
	int cpu = some_cpu();
	uint64_t told_ns, asleep_ns, left_ns;
	struct cpu_time time;
	pid_t pid = start_sleeper(cpu, &told_ns);
	bool is_told;

	(void)state;
	await_sleep(pid);
	asleep_ns = clock_monotonic_ns();
	is_told = proc_read_exec_start(pid, pid, &left_ns);
	cpu_clocks_want(clocks, cpu);
	while (is_told && !cpu_clocks_time(clocks, cpu, left_ns, asleep_ns, &time))
		usleep(100);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!is_told)
		skip(); /* CONFIG_SCHED_DEBUG, before Linux 6.15 */
	assert_true(time.latest_ns >= told_ns);
	assert_true(time.latest_ns <= clock_monotonic_ns());
	/* Only a reading of then or later says so. */
	assert_false(cpu_clocks_time(clocks, cpu, left_ns, UINT64_MAX, &time));
	cpu_clocks_end(clocks);
}

static void test_cpu_clocks__know_nothing_of_other_cpus(void **state)
{
	struct cpu_clocks *clocks = cpu_clocks_new();
	struct cpu_time time;

	(void)state;
	assert_false(cpu_clocks_time(clocks, some_cpu(), 1, 0, &time));
	assert_false(cpu_clocks_time(clocks, -1, 1, 0, &time));
	assert_false(cpu_clocks_time(clocks, CPU_SETSIZE, 1, 0, &time));
	cpu_clocks_want(clocks, -1);
	cpu_clocks_want(clocks, CPU_SETSIZE);
	cpu_clocks_want(clocks, CPU_SETSIZE - 1); /* there hardly is such a one */
	cpu_clocks_end(clocks);
	cpu_clocks_end(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_clocks__tell_when_a_process_went_to_sleep),
		cmocka_unit_test(test_cpu_clocks__know_nothing_of_other_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
