// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * children PROGRAM_VFORKED PROGRAM_SPAWNED [CPU_MS]: three children one after
 * another: a fork that names itself "forked" and works in forked_work(), a
 * vfork and a posix_spawn that exec the two programs (copies of spin_leaf).
 * The parent works in parent_work(). All use CPU_MS and print {"program", "cpu_ns"}.
 */
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

extern char **environ;

NOINLINE uint64_t spend(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

static void print_spent(const char *program)
{
	printf("{\"program\": \"%s\", \"cpu_ns\": %llu}\n", program,
	       (unsigned long long)process_cpu_ns());
	fflush(stdout);
}

NOINLINE uint64_t forked_work(uint64_t until_ns)
{
	return spend(until_ns) + 1;
}

NOINLINE uint64_t parent_work(uint64_t until_ns)
{
	return spend(until_ns) + 2;
}

static void fork_child(uint64_t spend_ns)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_NAME, "forked");
		forked_work(spend_ns);
		print_spent("forked");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void vfork_child(char *program, char *cpu_ms)
{
	char *const arguments[] = {program, cpu_ms, NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		execv(program, arguments);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void spawn_child(char *program, char *cpu_ms)
{
	char *const arguments[] = {program, cpu_ms, NULL};
	pid_t pid;

	if (!posix_spawn(&pid, program, NULL, NULL, arguments, environ))
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char *cpu_ms = argc > 3 ? argv[3] : "400";
	uint64_t spend_ns = strtoull(cpu_ms, NULL, 0) * MS;

	if (argc < 3)
		return 2;
	parent_work(spend_ns);
	fork_child(spend_ns);
	vfork_child(argv[1], cpu_ms);
	spawn_child(argv[2], cpu_ms);
	print_spent("children");
	return 0;
}
