// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "proc/read.h"
#include "roster/joiners.h"
#include "roster/roster_priv.h"
#include "tests/unit/unit.h"

static const char version_1[] = "12:pids:/system.slice/nginx.service\n"
				"1:name=systemd:/system.slice/nginx.service\n"
				"0::/system.slice/nginx.service\n";

TEST(joiners, unit_is_a_part_of_a_path)
{
	assert_true(joiners_unit_has("nginx.service", version_1));
	assert_true(joiners_unit_has("system.slice", version_1));
	assert_true(joiners_unit_has("system.slice/nginx.service", version_1));
	assert_false(joiners_unit_has("inx.service", version_1));
	assert_false(joiners_unit_has("nginx.servic", version_1));
	assert_false(joiners_unit_has("nginx", version_1));
	assert_false(joiners_unit_has("nginx.service/system.slice", version_1));
	assert_false(joiners_unit_has("pids", version_1));
	assert_false(joiners_unit_has("name=systemd", version_1));
	assert_true(
		joiners_unit_has("nginx.service", "0::/a.slice/a-b.slice/nginx.service/worker"));
	assert_true(joiners_unit_has("a-b.slice/nginx.service",
				     "0::/a.slice/a-b.slice/nginx.service/worker\n"));
	assert_false(joiners_unit_has("a.slice/nginx.service",
				      "0::/a.slice/a-b.slice/nginx.service/worker\n"));
	assert_true(joiners_unit_has("session-2.scope", "0::/../user.slice/session-2.scope\n"));
}

TEST(joiners, any_hierarchy_will_do)
{
	assert_true(
		joiners_unit_has("b.service", "9:freezer:/\n1:name=systemd:/b.service\n0::/\n"));
	assert_false(joiners_unit_has("b.service", "9:freezer:/\n1:name=systemd:/b\n0::/\n"));
}

TEST(joiners, name_of_a_file_of_the_kernel_has_an_underscore)
{
	assert_true(joiners_unit_has("cpu.service", "0::/system.slice/_cpu.service\n"));
	assert_true(
		joiners_unit_has("system.slice/cpu.service", "0::/system.slice/_cpu.service\n"));
	assert_true(joiners_unit_has("_own.service", "0::/_own.service\n"));
	assert_false(joiners_unit_has("pu.service", "0::/_cpu.service\n"));
}

TEST(joiners, other_texts_have_no_unit)
{
	assert_false(joiners_unit_has("a.service", ""));
	assert_false(joiners_unit_has("a.service", "\n\n"));
	assert_false(joiners_unit_has("a.service", "0:/a.service\n"));
	assert_false(joiners_unit_has("a.service", "0::a.service\n"));
	assert_false(joiners_unit_has("a.service", "::"));
	assert_true(joiners_unit_has("a.service", "::/a.service"));
}

static void assert_unit(const char *name, const char *unit)
{
	struct joiners joiners = {.units = NULL};

	assert_int_equal(joiners_add_unit(&joiners, name, NULL), 0);
	assert_string_equal(joiners.units[0], unit);
	joiners_release(&joiners);
}

TEST(joiners, unit_without_a_type_is_a_service)
{
	assert_unit("nginx", "nginx.service");
	assert_unit("nginx.service", "nginx.service");
	assert_unit("getty@tty1", "getty@tty1.service");
	assert_unit("user-1000.slice", "user-1000.slice");
	assert_unit("session-2.scope", "session-2.scope");
	assert_unit("/system.slice/nginx.service/", "system.slice/nginx.service");
	assert_unit(".service", ".service.service");
}

TEST(joiners, wrong_ones_are_refused)
{
	struct joiners joiners = {.units = NULL};
	struct err err = ERR_INIT;

	assert_int_equal(joiners_add_unit(&joiners, "", &err), ERR_INVALID);
	assert_int_equal(joiners_add_unit(&joiners, "//", &err), ERR_INVALID);
	assert_int_equal(joiners_add_name(&joiners, "(", &err), ERR_INVALID);
	assert_non_null(strstr(err.what, "--comm"));
	assert_true(joiners_is_empty(&joiners));
	joiners_release(&joiners);
}

TEST(joiners, words)
{
	struct joiners joiners = {.units = NULL};
	struct buf words = {0};

	joiners_add_unit(&joiners, "a", NULL);
	joiners_add_unit(&joiners, "b.scope", NULL);
	joiners_add_name(&joiners, "^c$", NULL);
	joiners_append_words(&joiners, &words);
	assert_string_equal(buf_str(&words), "a.service or b.scope or '^c$'");
	buf_release(&words);
	joiners_release(&joiners);
}

/* --- a roster --- */

static void process_event(void *context, struct roster_process *process,
			  struct roster_process *parent, bool is_exec)
{
	(void)context;
	(void)process;
	(void)parent;
	(void)is_exec;
}

static void process_gone(void *context, struct roster_process *process)
{
	(void)context;
	(void)process;
}

static void thread_born(void *context, struct roster_thread *thread, bool is_new)
{
	(void)context;
	(void)thread;
	(void)is_new;
}

static void thread_gone(void *context, struct roster_thread *thread)
{
	(void)context;
	roster_release_thread(thread);
}

static struct roster *new_roster(const struct joiners *joiners, bool follow_children)
{
	const struct roster_listener listener = {.process_born = process_event,
						 .process_gone = process_gone,
						 .thread_born = thread_born,
						 .thread_gone = thread_gone};
	struct roster *roster = roster_new(&listener, follow_children, 0);

	roster_poll(roster, 0);
	roster_admit(roster, joiners);
	return roster;
}

/*
 * A process that does not descend from this one, and sleeps. It takes its second name when it gets
 * SIGUSR1.
 */
static char renamed[16];

static void rename_it(int signal)
{
	(void)signal;
	prctl(PR_SET_NAME, renamed);
}

static pid_t stranger(const char *name, const char *later)
{
	pid_t pid = 0, child;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		pid = fork();
		if (pid == 0) {
			snprintf(renamed, sizeof(renamed), "%s", later);
			signal(SIGUSR1, rename_it);
			alarm(60);
			prctl(PR_SET_NAME, name);
			for (;;)
				pause();
		}
		assert_int_equal(write(ends[1], &pid, sizeof(pid)), sizeof(pid));
		_exit(0);
	}
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void rest(void)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	nanosleep(&pause, NULL);
}

static bool is_called(pid_t pid, const char *name)
{
	struct proc_stat stat;

	return proc_read_task_stat(pid, pid, &stat) && strcmp(stat.comm, name) == 0;
}

static void await_name(pid_t pid, const char *name)
{
	for (int i = 0; i < 5000 && !is_called(pid, name); i++)
		rest();
	assert_true(is_called(pid, name));
}

static void look_until_joined(struct roster *roster, pid_t pid)
{
	for (int i = 0; i < 10000 && !roster_find_process(roster, pid); i++) {
		roster_poll(roster, clock_monotonic_ns());
		roster_join(roster, clock_monotonic_ns());
		rest();
	}
	assert_non_null(roster_find_process(roster, pid));
}

TEST(joining, those_that_run_and_no_child_of_ours)
{
	struct joiners joiners = {.units = NULL};
	struct roster *roster;
	pid_t other = stranger("joins_old", ""), own = fork();

	if (own == 0) {
		prctl(PR_SET_NAME, "joins_old");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	await_name(other, "joins_old");
	await_name(own, "joins_old");
	joiners_add_name(&joiners, "^joins_old$", NULL);
	roster = new_roster(&joiners, true);
	roster_join_all(roster);
	assert_non_null(roster_find_process(roster, other));
	assert_null(roster_find_process(roster, own));
	assert_int_equal(roster_nr_processes(roster), 1);
	assert_int_equal(roster_joined(roster).nr, 1);
	roster_join_all(roster);
	assert_int_equal(roster_joined(roster).nr, 1);
	kill(other, SIGKILL);
	kill(own, SIGKILL);
	waitpid(own, NULL, 0);
	roster_free(roster);
	joiners_release(&joiners);
}

TEST(joining, one_that_gets_its_name_later)
{
	struct joiners joiners = {.units = NULL};
	struct roster *roster;
	pid_t pid;

	joiners_add_name(&joiners, "^joins_late$", NULL);
	roster = new_roster(&joiners, false);
	pid = stranger("joins_not", "joins_late");
	await_name(pid, "joins_not");
	for (int i = 0; i < 20; i++) {
		roster_poll(roster, clock_monotonic_ns());
		roster_join(roster, clock_monotonic_ns());
		rest();
	}
	assert_null(roster_find_process(roster, pid));
	kill(pid, SIGUSR1);
	look_until_joined(roster, pid);
	kill(pid, SIGKILL);
	roster_free(roster);
	joiners_release(&joiners);
}

TEST(joining, one_that_was_there_before_it_fitted)
{
	struct joiners joiners = {.units = NULL};
	struct roster *roster;
	pid_t pid = stranger("joins_not", "joins_then");

	await_name(pid, "joins_not");
	joiners_add_name(&joiners, "^joins_then$", NULL);
	roster = new_roster(&joiners, false);
	roster_join_all(roster);
	assert_int_equal(roster_nr_processes(roster), 0);
	kill(pid, SIGUSR1);
	look_until_joined(roster, pid);
	assert_int_equal(roster_find_process(roster, pid)->origin, ROSTER_JOINED_RUNNING);
	kill(pid, SIGKILL);
	roster_free(roster);
	joiners_release(&joiners);
}
