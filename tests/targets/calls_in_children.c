// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_in_children [MODE]: the same functions called by a process, the children that it forks,
 * and theirs. MODE "vfork" and "spawn": and by itself in another life, as PROGRAM "again". "exec":
 * the same, in the same process. "orphan": a grandchild whose parent has ended. Each prints
 * its own counts as it ends.
 */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_counts.h"

extern char **environ;
static uint64_t own_calls;

COUNTED void called_in_all(void)
{
	own_calls++;
}

/* Of this process alone: what its parent has counted was its parent's. */
static void say_and_forget(void)
{
	say_own_count("called_in_all", own_calls);
	fflush(stdout);
	own_calls = 0;
}

static void call(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		called_in_all();
}

static void fork_generations(unsigned generations)
{
	for (unsigned i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0) {
			own_calls = 0;
			call(1000 + i);
			if (generations > 1)
				fork_generations(generations - 1);
			say_and_forget();
			_exit(0);
		}
		call(10);
		waitpid(child, NULL, 0);
	}
}

/* Its parent has ended before it calls anything. */
static void fork_orphan(void)
{
	pid_t child = fork();

	if (child == 0) {
		pid_t parent = getpid();

		own_calls = 0;
		call(7);
		if (fork() == 0) {
			own_calls = 0;
			while (getppid() == parent)
				usleep(1000);
			usleep(100000);
			call(4444);
		}
		say_and_forget();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	usleep(300000);
}

/* Nothing is called before its calls are counted. */
static void be_again(void)
{
	wait_for_probe(called_in_all, 1);
	call(777);
	say_and_forget();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "fork";
	char *const arguments[] = {argv[0], "again", NULL};
	pid_t child = 0;

	if (strcmp(mode, "again") == 0) {
		be_again();
		return 0;
	}
	call(500);
	if (strcmp(mode, "fork") == 0) {
		fork_generations(3);
	} else if (strcmp(mode, "orphan") == 0) {
		fork_orphan();
	} else if (strcmp(mode, "vfork") == 0) {
		child = vfork();
		if (child == 0) {
			execv(argv[0], arguments);
			_exit(127);
		}
	} else if (strcmp(mode, "spawn") == 0) {
		posix_spawn(&child, argv[0], NULL, NULL, arguments, environ);
	} else if (strcmp(mode, "exec") == 0) {
		say_and_forget();
		execv(argv[0], arguments);
	}
	call(33);
	if (child)
		waitpid(child, NULL, 0);
	say_and_forget();
	return 0;
}
