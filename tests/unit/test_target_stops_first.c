// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target_priv.h"

#define NR_DEAD 20

static struct tracee *seized_child(struct target *target)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0)
		pause();
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	return target_add(target, pid, pid);
}

static void await(pid_t pid, int kinds)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, kinds | WNOWAIT | __WALL), 0);
}

static void test_target_next_stop__comes_before_all_that_have_ended(void **state)
{
	const struct target_options options = {.follow_children = false};
	struct target *target = target_new(&options);
	struct target_event event;
	struct tracee *stopped;
	pid_t dead[NR_DEAD];

	(void)state;
	stopped = seized_child(target);
	/* The kernel tells of those first that were seized last. */
	for (int i = 0; i < NR_DEAD; i++)
		dead[i] = seized_child(target)->tid;
	for (int i = 0; i < NR_DEAD; i++)
		kill(dead[i], SIGKILL);
	for (int i = 0; i < NR_DEAD; i++)
		await(dead[i], WEXITED);
	assert_true(target_interrupt(target, stopped));
	await(stopped->tid, WSTOPPED);

	target_next_stop(target, &event);
	assert_int_equal(event.kind, TARGET_EVENT_INTERRUPTED);
	assert_ptr_equal(event.tracee, stopped);
	target_resume(target, stopped);
	target_next_stop(target, &event);
	assert_int_equal(event.kind, TARGET_EVENT_NONE);

	for (int i = 0; i < NR_DEAD; i++) {
		target_next(target, &event);
		assert_int_equal(event.kind, TARGET_EVENT_GONE);
		target_forget(target, event.tracee);
	}
	kill(stopped->tid, SIGKILL);
	await(stopped->tid, WEXITED);
	target_next(target, &event);
	assert_int_equal(event.kind, TARGET_EVENT_GONE);
	target_forget(target, event.tracee);
	target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_next_stop__comes_before_all_that_have_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
