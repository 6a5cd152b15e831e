// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/machine.h"
#include "proc/read.h"
#include "tests/unit/unit.h"

#define TICK_NS (10 * NS_PER_MS)

TEST(machine, times_are_those_of_all_cpus)
{
	static const char text[] = "cpu  10 2 30 400 57 3 4 5 6 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
	struct machine_times times = {.idle_ns = 1};

	for (size_t nr = 0; nr <= strlen("cpu  10 2 30 400 57 3 4 5"); nr++)
		assert_false(machine_times_parse(text, nr, TICK_NS, &times));
	assert_false(machine_times_parse("cpu0 1 2 3 4 5 6 7 8 9\n", 23, TICK_NS, &times));
	assert_true(times.idle_ns == 1);
	assert_true(machine_times_parse(text, strlen(text), TICK_NS, &times));
	assert_true(times.busy_ns == (10 + 2 + 30 + 3 + 4) * TICK_NS);
	assert_true(times.idle_ns == (400 + 57) * TICK_NS);
	assert_true(times.stolen_ns == 5 * TICK_NS);
}

static void use_cpu(uint64_t cpu_ns)
{
	uint64_t until_ns = clock_thread_cpu_ns() + cpu_ns;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

static bool is_pid(void *context, pid_t pid)
{
	return pid == *(pid_t *)context;
}

/* The time of a program; 0: it is not there. */
static uint64_t time_of(struct machine_meter *meter, const char *name, bool is_of_children)
{
	const struct machine_program *programs;
	size_t nr;

	programs = machine_meter_programs(meter, &nr);
	for (size_t i = 0; i < nr; i++) {
		assert_true(i == 0 || programs[i].cpu_ns <= programs[i - 1].cpu_ns);
		if (programs[i].is_of_children == is_of_children &&
		    strcmp(programs[i].name, name) == 0)
			return programs[i].cpu_ns;
	}
	return 0;
}

static void run_child(uint64_t cpu_ns)
{
	pid_t pid = fork();

	if (pid == 0) {
		use_cpu(cpu_ns);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Other tests have the same name only while their parent has another one: the runner's. */
TEST(machine, programs_have_their_time_and_that_of_children_that_were_not_seen)
{
	pid_t none = 0;
	struct machine_meter *meter = machine_meter_new(is_pid, &none);
	char name[PROC_COMM_MAX_BYTES];

	assert_true(proc_read_comm(getpid(), getpid(), name, sizeof(name)));
	machine_meter_read(meter, clock_monotonic_ns(), false);
	assert_true(machine_meter_times(meter).busy_ns == 0);
	use_cpu(150 * NS_PER_MS);
	run_child(150 * NS_PER_MS);
	machine_meter_read(meter, clock_monotonic_ns(), true);
	assert_true(machine_meter_times(meter).busy_ns >= 250 * NS_PER_MS);
	assert_in_range(time_of(meter, name, false), 120 * NS_PER_MS, 250 * NS_PER_MS);
	assert_in_range(time_of(meter, name, true), 120 * NS_PER_MS, 250 * NS_PER_MS);

	/* The child of the first reading is in the sum of the second one. */
	run_child(150 * NS_PER_MS);
	machine_meter_read(meter, clock_monotonic_ns(), true);
	assert_in_range(time_of(meter, name, true), 250 * NS_PER_MS, 400 * NS_PER_MS);
	machine_meter_free(meter);
}

/* Its parent gets its time when it is reaped: what was seen of it is not counted again. */
TEST(machine, child_that_was_seen_is_counted_once)
{
	pid_t none = 0, pid;
	struct machine_meter *meter = machine_meter_new(is_pid, &none);
	char name[PROC_COMM_MAX_BYTES];
	int from_child[2], to_child[2];
	struct rusage usage;
	uint64_t used_ns;
	char byte = 0;

	assert_int_equal(pipe(from_child), 0);
	assert_int_equal(pipe(to_child), 0);
	assert_true(proc_read_comm(getpid(), getpid(), name, sizeof(name)));
	machine_meter_read(meter, clock_monotonic_ns(), false);
	pid = fork();
	if (pid == 0) {
		use_cpu(150 * NS_PER_MS);
		if (write(from_child[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 1)
			_exit(0);
		_exit(1);
	}
	assert_int_equal(read(from_child[0], &byte, 1), 1);
	machine_meter_read(meter, clock_monotonic_ns(), true);
	assert_int_equal(write(to_child[1], &byte, 1), 1);
	assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
	used_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
		  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
	machine_meter_read(meter, clock_monotonic_ns(), true);
	machine_meter_read(meter, clock_monotonic_ns(), true);
	assert_in_range(time_of(meter, name, false), used_ns * 4 / 5, used_ns * 8 / 5);
	assert_true(time_of(meter, name, true) <= 50 * NS_PER_MS);
	machine_meter_free(meter);
	for (int i = 0; i < 2; i++) {
		close(from_child[i]);
		close(to_child[i]);
	}
}

TEST(machine, processes_of_ours_and_their_children_are_left_out)
{
	pid_t ours = getpid();
	struct machine_meter *meter = machine_meter_new(is_pid, &ours);
	char name[PROC_COMM_MAX_BYTES];

	assert_true(proc_read_comm(getpid(), getpid(), name, sizeof(name)));
	machine_meter_read(meter, clock_monotonic_ns(), false);
	use_cpu(50 * NS_PER_MS);
	run_child(50 * NS_PER_MS);
	machine_meter_read(meter, clock_monotonic_ns(), true);
	assert_true(time_of(meter, name, false) == 0);
	assert_true(time_of(meter, name, true) == 0);
	machine_meter_free(meter);
}
