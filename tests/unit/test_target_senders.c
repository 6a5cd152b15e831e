// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/senders.h"

#define PARENT 4710
#define THREAD 4711
#define CHILD  3
#define AT_NS  (UINT64_C(77) * NS_PER_SEC)

static void note(struct senders *senders, pid_t parent_tgid, pid_t parent_tid, pid_t pid,
		 uint64_t reaped_ns)
{
	const struct sender sender = {.pid = pid,
				      .parent_tid = parent_tid,
				      .parent_tgid = parent_tgid,
				      .reaped_ns = reaped_ns};

	senders_note(senders, &sender);
}

static siginfo_t of_child(int code, pid_t pid)
{
	siginfo_t info = {.si_signo = SIGCHLD, .si_code = code};

	info.si_pid = pid;
	return info;
}

/* The thread whose child it was; 0: none is known. */
static pid_t parent_of(const struct senders *senders, pid_t tgid, siginfo_t info, uint64_t now_ns)
{
	const struct sender *sender = senders_find(senders, tgid, &info, now_ns);

	return sender ? sender->parent_tid : 0;
}

static void test_target_senders__only_an_end_has_one(void **state)
{
	struct senders senders = {0};
	siginfo_t other = of_child(CLD_EXITED, CHILD);

	(void)state;
	note(&senders, PARENT, THREAD, CHILD, AT_NS);
	assert_int_equal(parent_of(&senders, PARENT, of_child(CLD_EXITED, CHILD), AT_NS), THREAD);
	assert_int_equal(parent_of(&senders, PARENT, of_child(CLD_KILLED, CHILD), AT_NS), THREAD);
	assert_int_equal(parent_of(&senders, PARENT, of_child(CLD_DUMPED, CHILD), AT_NS), THREAD);
	assert_int_equal(parent_of(&senders, PARENT, of_child(CLD_STOPPED, CHILD), AT_NS), 0);
	assert_int_equal(parent_of(&senders, PARENT, of_child(SI_USER, CHILD), AT_NS), 0);
	assert_int_equal(parent_of(&senders, PARENT, of_child(CLD_EXITED, CHILD + 1), AT_NS), 0);
	other.si_signo = SIGUSR1;
	assert_int_equal(parent_of(&senders, PARENT, other, AT_NS), 0);
}

static void test_target_senders__parents_in_namespaces_have_children_of_the_same_id(void **state)
{
	struct senders senders = {0};
	siginfo_t info = of_child(CLD_EXITED, CHILD);

	(void)state;
	note(&senders, PARENT, THREAD, CHILD, AT_NS);
	note(&senders, PARENT + 10, THREAD + 10, CHILD, AT_NS);
	assert_int_equal(parent_of(&senders, PARENT, info, AT_NS), THREAD);
	assert_int_equal(parent_of(&senders, PARENT + 10, info, AT_NS), THREAD + 10);
	assert_int_equal(parent_of(&senders, PARENT + 20, info, AT_NS), 0);
}

static void test_target_senders__an_id_is_that_of_the_last_who_had_it(void **state)
{
	struct senders senders = {0};
	siginfo_t info = of_child(CLD_EXITED, CHILD);

	(void)state;
	note(&senders, PARENT, THREAD, CHILD, AT_NS);
	note(&senders, PARENT, THREAD + 1, CHILD, AT_NS + 1);
	assert_int_equal(parent_of(&senders, PARENT, info, AT_NS + 1), THREAD + 1);
	assert_int_equal(parent_of(&senders, PARENT, info, AT_NS + NS_PER_SEC), THREAD + 1);
	assert_int_equal(parent_of(&senders, PARENT, info, AT_NS + 1 + NS_PER_SEC), 0);
}

static void test_target_senders__keeps_the_latest(void **state)
{
	struct senders senders = {0};

	(void)state;
	for (pid_t i = 0; i <= SENDERS_MAX; i++)
		note(&senders, PARENT, THREAD + i, CHILD + i, AT_NS);
	for (pid_t i = 0; i <= SENDERS_MAX; i++) {
		siginfo_t info = of_child(CLD_EXITED, CHILD + i);

		assert_int_equal(parent_of(&senders, PARENT, info, AT_NS), i ? THREAD + i : 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_senders__only_an_end_has_one),
		cmocka_unit_test(
			test_target_senders__parents_in_namespaces_have_children_of_the_same_id),
		cmocka_unit_test(test_target_senders__an_id_is_that_of_the_last_who_had_it),
		cmocka_unit_test(test_target_senders__keeps_the_latest),
	};

	return cmocka_run_group_tests_name("target/senders", tests, NULL, NULL);
}
