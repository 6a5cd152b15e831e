// SPDX-License-Identifier: GPL-2.0-or-later
/* When the clocks of a visit are read, and what they are then. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"
#include "tracee/visit_clocks.h"

#define READ_NS (5 * NS_PER_SEC)

static const struct visit_clocks displaced = {
	.before = {.cpu_ns = 5000, .runq_ns = 700, .pcount = 30},
	.read_ns = READ_NS,
	.ran_until_then = true,
	.is_displaced = true,
};
static const struct visit_clocks elsewhere = {
	.before = {.cpu_ns = 5000, .runq_ns = 700, .pcount = 30},
	.read_ns = READ_NS,
	.are_read_after = true,
};
static const struct visit prompt = {
	.tid = 7, .stopped_tid = 7, .stopped_ns = READ_NS + 20 * NS_PER_US};

/* Its file shows these clocks; cpu_ns 0: it has ended. */
static struct tracee tracee_with(uint64_t cpu_ns, uint64_t runq_ns, uint64_t pcount)
{
	struct tracee tracee = {.tgid = -1, .tid = -1, .host = tracee_host_new()};

	tracee.fds[TRACEE_SCHEDSTAT] = memfd_create("schedstat", MFD_CLOEXEC);
	assert_true(tracee.fds[TRACEE_SCHEDSTAT] >= 0);
	if (cpu_ns)
		assert_true(dprintf(tracee.fds[TRACEE_SCHEDSTAT], "%lu %lu %lu\n",
				    (unsigned long)cpu_ns, (unsigned long)runq_ns,
				    (unsigned long)pcount) > 0);
	return tracee;
}

static void release(struct tracee *tracee)
{
	close(tracee->fds[TRACEE_SCHEDSTAT]);
	tracee_host_free(tracee->host);
}

/* A thread whose file shows 6000 900 33 has stopped, in this call. */
static struct snapshot stopped(const struct visit_clocks *clocks, const struct visit *visit,
			       int32_t syscall_nr, bool *is_left)
{
	struct tracee tracee = tracee_with(6000, 900, 33);
	struct snapshot snapshot = {.syscall_nr = syscall_nr};

	assert_true(visit_clocks_set(clocks, visit, &tracee, &snapshot, is_left));
	release(&tracee);
	return snapshot;
}

/* They are read in the stop. */
static void expect_read(const struct visit_clocks *clocks, const struct visit *visit,
			int32_t syscall_nr)
{
	bool is_left;
	struct snapshot snapshot = stopped(clocks, visit, syscall_nr, &is_left);

	assert_false(is_left);
	assert_int_equal(snapshot.cpu_ns, 6000);
	assert_int_equal(snapshot.runq_ns, 900);
	assert_int_equal(snapshot.pcount, 33);
}

TEST(visit_clocks, those_of_a_displaced_thread_stand_still_until_it_comes_to_stop)
{
	bool is_left;
	struct snapshot snapshot = stopped(&displaced, &prompt, SNAPSHOT_NO_SYSCALL, &is_left);

	assert_false(is_left);
	assert_int_equal(snapshot.cpu_ns, 5000);
	assert_int_equal(snapshot.runq_ns, 700);
	assert_int_equal(snapshot.pcount, 31);
}

TEST(visit_clocks, are_read_in_a_stop_that_shows_more_than_they_did_before)
{
	struct visit_clocks other = displaced;
	struct visit visit = prompt;

	expect_read(&displaced, &prompt, 0);
	expect_read(&displaced, &prompt, SNAPSHOT_PAGE_FAULT);
	expect_read(&elsewhere, &prompt, 0);
	visit.stopped_ns = READ_NS + 3 * NS_PER_MS; /* another thread had the CPU first */
	expect_read(&displaced, &visit, SNAPSHOT_NO_SYSCALL);
	visit = prompt;
	visit.stopped_tid = 6; /* since it has executed a program */
	expect_read(&displaced, &visit, SNAPSHOT_NO_SYSCALL);
	other.ran_until_then = false;
	expect_read(&other, &prompt, SNAPSHOT_NO_SYSCALL);
	other = displaced;
	other.is_displaced = false;
	expect_read(&other, &prompt, SNAPSHOT_NO_SYSCALL);
}

TEST(visit_clocks, a_thread_that_is_gone_has_none)
{
	struct tracee tracee = tracee_with(0, 0, 0);
	struct snapshot snapshot = {.syscall_nr = 0};
	bool is_left;

	assert_false(visit_clocks_set(&displaced, &prompt, &tracee, &snapshot, &is_left));
	release(&tracee);
}

/* Its file shows these clocks when it has been let go. */
static struct snapshot let_go(uint64_t cpu_ns, uint64_t runq_ns, uint64_t pcount)
{
	struct tracee tracee = tracee_with(cpu_ns, runq_ns, pcount);
	struct snapshot snapshot = {.syscall_nr = SNAPSHOT_NO_SYSCALL};
	bool is_left;

	assert_true(visit_clocks_set(&elsewhere, &prompt, &tracee, &snapshot, &is_left));
	assert_true(is_left);
	visit_clocks_after(&elsewhere, &tracee, &snapshot);
	release(&tracee);
	return snapshot;
}

TEST(visit_clocks, the_return_of_a_thread_to_its_cpu_does_not_count_as_before_its_stop)
{
	assert_int_equal(let_go(6000, 700, 30).pcount, 30);
	assert_int_equal(let_go(6000, 900, 31).pcount, 30);
	assert_int_equal(let_go(6000, 900, 31).cpu_ns, 6000);
	/* It waited for a CPU before its stop; whether it is back is not known. */
	assert_int_equal(let_go(6000, 900, 32).pcount, 31);
}

TEST(visit_clocks, a_thread_that_ends_at_once_keeps_those_of_before)
{
	struct snapshot snapshot = let_go(0, 0, 0);

	assert_int_equal(snapshot.cpu_ns, 5000);
	assert_int_equal(snapshot.pcount, 30);
}
