// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/task_ids.h"
#include "tests/unit/unit.h"

/* Before Linux 6.13 there is nothing to test. */
static bool are_shown(void)
{
	struct task_ids ids;

	return proc_read_task_ids(getpid(), &ids) != TASK_IDS_HIDDEN;
}

TEST(proc_task_ids, of_a_process_has_its_parent)
{
	struct task_ids ids;

	if (!are_shown())
		skip();
	assert_int_equal(proc_read_task_ids(getpid(), &ids), TASK_IDS_READ);
	assert_int_equal(ids.tgid, getpid());
	assert_int_equal(ids.parent, getppid());
}

static void *read_of_thread(void *argument)
{
	struct task_ids *ids = argument;

	if (proc_read_task_ids(gettid(), ids) != TASK_IDS_READ)
		ids->tgid = -1;
	return NULL;
}

TEST(proc_task_ids, of_a_thread_has_its_process)
{
	struct task_ids ids = {0};
	pthread_t thread;

	if (!are_shown())
		skip();
	assert_int_equal(pthread_create(&thread, NULL, read_of_thread, &ids), 0);
	pthread_join(thread, NULL);
	assert_int_equal(ids.tgid, getpid());
	assert_int_equal(ids.parent, getppid());
}

TEST(proc_task_ids, of_a_reaped_process_are_gone)
{
	struct task_ids ids;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	if (!are_shown())
		skip();
	assert_int_equal(proc_read_task_ids(pid, &ids), TASK_IDS_GONE);
}
