// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that change while a thread runs: some are read again, some belong to another program. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/program.h"
#include "proc/read.h"
#include "tests/unit/made_collector.h"
#include "tests/unit/unit.h"

/* A child that obeys orders, and facts about it from before any. */
struct fixture {
	pid_t pid;
	int to_child;
	uint64_t program;
	struct made_collector made;
};

static void obey(int from_parent)
{
	char order = 0;

	prctl(PR_SET_NAME, "before");
	if (read(from_parent, &order, 1) == 1)
		execlp("sleep", "sleep", "1000", NULL);
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

static void order_exec(const struct fixture *fixture)
{
	assert_int_equal(write(fixture->to_child, "e", 1), 1);
	await_name(fixture, "sleep");
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

static void publish_beginning(struct fixture *fixture)
{
	struct message *message = made_process(&fixture->made, fixture->pid);

	message->body.process.program = fixture->program;
	message->body.process.comm = xstrdup("before");
	made_publish(&fixture->made, message);
	message = made_thread(&fixture->made, fixture->pid);
	free(message->body.thread.name);
	message->body.thread.name = NULL;
	made_publish(&fixture->made, message);
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	start_child(fixture);
	made_collector_start(&fixture->made, NULL);
	publish_beginning(fixture);
	made_cut(&fixture->made);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kill(fixture->pid, SIGKILL);
	waitpid(fixture->pid, NULL, 0);
	close(fixture->to_child);
	made_collector_free(&fixture->made);
	free(fixture);
	return 0;
}

/* `told`: the name in its sample, or NULL. */
static void assert_name_once_it_ran(struct fixture *fixture, const char *told, const char *name)
{
	struct made_collector *made = &fixture->made;
	struct message *message = made_sample(0, SEEN_RUNNING, 2, 1);

	message->body.sample.name = told ? xstrdup(told) : NULL;
	made_publish(made, message);
	made_cut(made);
	made_collector_finish(made);
	assert_string_equal(profile_str(made->read, made->read->processes[0].name), name);
	assert_string_equal(profile_str(made->read, made->read->threads[0].name), name);
}

TEST_WITH(struct fixture *fixture, names, that_of_a_process_comes_with_a_sample)
{
	assert_name_once_it_ran(fixture, "renamed", "renamed");
}

TEST_WITH(struct fixture *fixture, names, that_of_the_next_program_is_left)
{
	order_exec(fixture);
	assert_name_once_it_ran(fixture, NULL, "before");
}

/* The collector gets the new name of the process before it hears of the exec. */
TEST_WITH(struct fixture *fixture, names, the_leader_is_called_as_its_process)
{
	struct message *message = message_new(MESSAGE_MAPS, 3);

	order_exec(fixture);
	message->body.process.comm = xstrdup("told");
	made_publish(&fixture->made, message);
	assert_name_once_it_ran(fixture, NULL, "told");
}
