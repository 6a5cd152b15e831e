// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/privileges.h"

#define OTHER_UID 65534

struct fixture {
	char directory[32], program[64];
	pid_t pid;
};

static void copy_own_program(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	struct stat stat;

	assert_int_equal(fstat(from, &stat), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)stat.st_size), stat.st_size);
	close(from);
	close(to);
}

/* A process that executes the copy, and then moves its root to `root`: main() below. */
static void start(struct fixture *fixture, const char *root)
{
	int pipe_fds[2];
	char byte;

	assert_int_equal(pipe(pipe_fds), 0);
	fixture->pid = fork();
	if (fixture->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipe_fds[1], STDOUT_FILENO);
		execl(fixture->program, fixture->program, root, (char *)NULL);
		_exit(1);
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
}

static int be_watched(const char *root)
{
	if (chroot(root) || chdir("/") || write(STDOUT_FILENO, "", 1) != 1)
		return 1;
	pause();
	return 0;
}

static void stop(const struct fixture *fixture)
{
	kill(fixture->pid, SIGKILL);
	waitpid(fixture->pid, NULL, 0);
}

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){.directory = "/tmp/privileges.XXXXXX"};
	assert_non_null(mkdtemp(fixture.directory));
	snprintf(fixture.program, sizeof(fixture.program), "%s/program", fixture.directory);
	copy_own_program(fixture.program);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->program);
	rmdir(fixture->directory);
	return 0;
}

static bool has_set_user_id_here(const struct fixture *fixture)
{
	struct statvfs mount;

	return geteuid() == 0 && statvfs(fixture->directory, &mount) == 0 &&
	       !(mount.f_flag & ST_NOSUID);
}

static void become_another_s(const struct fixture *fixture)
{
	assert_int_equal(chown(fixture->program, OTHER_UID, OTHER_UID), 0);
	assert_int_equal(chmod(fixture->program, 04755), 0);
}

/* It runs as root what is another user's: had it been so as it was executed, it would lack that. */
static void assert_lacks(struct fixture *fixture, const char *root)
{
	if (!has_set_user_id_here(fixture))
		skip();
	start(fixture, root);
	assert_false(proc_lacks_set_user_id(fixture->pid));
	become_another_s(fixture);
	assert_true(proc_lacks_set_user_id(fixture->pid));
	stop(fixture);
	assert_false(proc_lacks_set_user_id(fixture->pid));
}

static void test_proc_privileges__are_missed(void **state)
{
	assert_lacks(*state, "/");
}

/* Its own table of mounts is empty. */
static void test_proc_privileges__are_missed_after_a_chroot(void **state)
{
	struct fixture *fixture = *state;

	assert_lacks(fixture, fixture->directory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_proc_privileges__are_missed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_proc_privileges__are_missed_after_a_chroot,
						set_up, tear_down),
	};

	if (argc > 1)
		return be_watched(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
