// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "proc/program.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* A child that does as told, and what is known of it as of when it had not. */
struct fixture {
	pid_t pid;
	int to_child;
	uint64_t program;
};

static void obey(int from_parent)
{
	char order = 0;

	prctl(PR_SET_NAME, "before");
	while (read(from_parent, &order, 1) == 1) {
		if (order == 'r')
			prctl(PR_SET_NAME, "renamed");
		else
			execlp("sleep", "sleep", "1000", NULL);
	}
	_exit(1);
}

static void await_name(const struct fixture *fixture, const char *wanted)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char name[PROC_COMM_MAX_BYTES] = "";

	while (strcmp(name, wanted) != 0) {
		nanosleep(&pause, NULL);
		assert_true(proc_read_comm(fixture->pid, fixture->pid, name, sizeof(name)));
	}
}

static void order(const struct fixture *fixture, char what, const char *name)
{
	assert_int_equal(write(fixture->to_child, &what, 1), 1);
	await_name(fixture, name);
}

static void start_child(struct fixture *fixture)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	fixture->pid = fork();
	if (!fixture->pid) {
		close(ends[1]);
		obey(ends[0]);
	}
	assert_true(fixture->pid > 0);
	close(ends[0]);
	fixture->to_child = ends[1];
	await_name(fixture, "before");
	fixture->program = proc_program_id(fixture->pid, fixture->pid);
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	start_child(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kill(fixture->pid, SIGKILL);
	waitpid(fixture->pid, NULL, 0);
	close(fixture->to_child);
	free(fixture);
	return 0;
}

static char *name_at_look(const struct fixture *fixture)
{
	struct tracee tracee = {.tid = fixture->pid, .tgid = fixture->pid};
	struct sampled_process process = {.pid = fixture->pid, .program = fixture->program};
	struct sampled_thread thread = {.process = &process, .tracee = &tracee};

	return young_name_at_look(&thread, 1);
}

static void test_names__a_look_reads_that_of_a_process(void **state)
{
	struct fixture *fixture = *state;
	char *name = name_at_look(fixture);

	assert_string_equal(name, "before");
	free(name);
}

static void test_names__a_look_leaves_that_of_the_next_program(void **state)
{
	struct fixture *fixture = *state;

	order(fixture, 'e', "sleep");
	assert_null(name_at_look(fixture));
}

/* As of a process whose first thread has ended. */
static void test_names__are_believed_where_no_program_can_be_told(void **state)
{
	struct fixture *fixture = *state;
	char *name;

	fixture->program = 0;
	order(fixture, 'r', "renamed");
	name = name_at_look(fixture);
	assert_string_equal(name, "renamed");
	free(name);
}

#define WITH_CHILD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHILD(test_names__a_look_reads_that_of_a_process),
		WITH_CHILD(test_names__a_look_leaves_that_of_the_next_program),
		WITH_CHILD(test_names__are_believed_where_no_program_can_be_told),
	};

	return cmocka_run_group_tests_name("sampler names", tests, NULL, NULL);
}
