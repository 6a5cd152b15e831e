// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roster/roster.h"
#include "tests/unit/unit.h"

/* The events so far. */
struct heard {
	int nr_born, nr_gone, nr_threads;
};

static void process_born(void *context, struct roster_process *process,
			 struct roster_process *parent, bool is_exec)
{
	struct heard *heard = context;

	(void)process;
	(void)parent;
	(void)is_exec;
	heard->nr_born++;
}

static void process_gone(void *context, struct roster_process *process)
{
	struct heard *heard = context;

	(void)process;
	heard->nr_gone++;
}

static void thread_born(void *context, struct roster_thread *thread, bool is_new)
{
	struct heard *heard = context;

	(void)thread;
	(void)is_new;
	heard->nr_threads++;
}

static void thread_gone(void *context, struct roster_thread *thread)
{
	struct heard *heard = context;

	heard->nr_threads--;
	roster_release_thread(thread);
}

TEST(roster, unreaped_command_is_over)
{
	struct heard heard = {0};
	const struct roster_listener listener = {.context = &heard,
						 .process_born = process_born,
						 .process_gone = process_gone,
						 .thread_born = thread_born,
						 .thread_gone = thread_gone};
	struct roster *roster = roster_new(&listener, true, 0);
	siginfo_t ended;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	roster_add_command(roster, pid);
	assert_int_equal(roster_nr_processes(roster), 1);
	assert_int_equal(heard.nr_threads, 1);
	roster_end_if_dead(roster, pid);
	assert_int_equal(roster_nr_processes(roster), 1);

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	roster_end_if_dead(roster, pid);
	assert_int_equal(roster_nr_processes(roster), 0);
	assert_int_equal(heard.nr_threads, 0);
	assert_int_equal(heard.nr_born, 1);
	assert_int_equal(heard.nr_gone, 1);
	roster_end_if_dead(roster, pid);
	assert_int_equal(heard.nr_gone, 1);

	assert_int_equal(waitpid(pid, NULL, 0), pid);
	roster_free(roster);
}
