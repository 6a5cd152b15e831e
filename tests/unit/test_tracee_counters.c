// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of a thread: of files that stay open, and of events while there are descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/event_counter.h"
#include "proc/kernel_counters.h"
#include "tests/unit/unit.h"
#include "tracee/tracee.h"

#define FAULTS	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS)
#define SWITCHES KERNEL_COUNTER_BIT(KERNEL_COUNTER_SWITCHES)
#define WRITTEN	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_WRITTEN_BYTES)
#define OF_EVENTS                                                                                  \
	(KERNEL_COUNTER_BIT(KERNEL_COUNTER_CYCLES) | KERNEL_COUNTER_BIT(KERNEL_COUNTER_MIGRATIONS))

static uint64_t written(struct tracee *tracee)
{
	struct kernel_counters counters = {{0}};

	assert_int_equal(tracee_counters(tracee, WRITTEN, &counters), WRITTEN);
	assert_int_equal(counters.values[KERNEL_COUNTER_READ_BYTES], 0);
	return counters.values[KERNEL_COUNTER_WRITTEN_BYTES];
}

TEST(tracee, keeps_the_files_of_its_counters)
{
	struct tracee_host *host = tracee_host_new();
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct kernel_counters counters = {{0}};
	static const char bytes[1234];
	struct tracee tracee;
	uint64_t before;
	int fd;

	tracee_open(&tracee, host, getpid(), getpid());
	before = written(&tracee);
	fd = tracee.fds[TRACEE_IO];
	assert_true(fd >= 0);
	assert_int_equal(write(null, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(written(&tracee) - before, sizeof(bytes));
	assert_int_equal(tracee.fds[TRACEE_IO], fd);
	assert_int_equal(tracee_counters(&tracee, FAULTS | SWITCHES, &counters), FAULTS | SWITCHES);
	assert_true(counters.values[KERNEL_COUNTER_FAULTS] > 0);
	assert_true(counters.values[KERNEL_COUNTER_SWITCHES] > 0);
	/* Asleep for long, and read all the same. */
	tracee_close_files(&tracee);
	assert_int_equal(tracee.fds[TRACEE_IO], -1);
	assert_int_equal(written(&tracee) - before, sizeof(bytes));
	tracee_close(&tracee);
	close(null);
	tracee_host_free(host);
}

TEST(tracee, of_no_thread_has_no_counters)
{
	struct tracee_host *host = tracee_host_new();
	struct kernel_counters counters = {{3, 4}};
	struct tracee tracee;

	tracee_open(&tracee, host, getpid(), 1 << 30);
	assert_int_equal(tracee_counters(&tracee, FAULTS | SWITCHES | WRITTEN, &counters), 0);
	assert_int_equal(counters.values[0], 3);
	tracee_close(&tracee);
	tracee_host_free(host);
}

static int open_null(void *context, const struct perf_event_attr *attr, pid_t tid)
{
	(void)context;
	(void)attr;
	(void)tid;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static const struct event_opener opener = {open_null, NULL};

#define MANY 64

TEST(tracee, leaves_descriptors_to_others)
{
	struct rlimit before, few;
	struct tracee_host *host;
	struct tracee tracees[MANY];
	struct err err = ERR_INIT;
	int nr_counted = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 164; /* 100 to keep open */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	host = tracee_host_new();
	for (int i = 0; i < MANY; i++)
		tracee_open(&tracees[i], host, getpid(), getpid());
	for (int i = 0; i < MANY; i++) {
		int status = tracee_count_events(&tracees[i], &opener, OF_EVENTS | FAULTS, &err);

		assert_true(status == 0 || status == ERR_LIMIT);
		nr_counted += status == 0;
	}
	/* 64 have the clocks of all, so that 36 are left for events of two descriptors. */
	assert_int_equal(nr_counted, 18);
	tracee_close(&tracees[0]);
	assert_int_equal(tracee_count_events(&tracees[MANY - 1], &opener, OF_EVENTS, &err), 0);
	for (int i = 1; i < MANY; i++)
		tracee_close(&tracees[i]);
	tracee_open(&tracees[0], host, getpid(), getpid());
	assert_int_equal(tracee_count_events(&tracees[0], &opener, OF_EVENTS, &err), 0);
	tracee_close(&tracees[0]);
	tracee_host_free(host);
	setrlimit(RLIMIT_NOFILE, &before);
}

/* The thread ends, and its id goes to another one, before its events are opened. */
static int open_of_successor(void *context, const struct perf_event_attr *attr, pid_t tid)
{
	kill(tid, SIGKILL);
	waitpid(tid, NULL, 0);
	return open_null(context, attr, tid);
}

TEST(tracee, counts_no_events_of_a_thread_that_took_its_id)
{
	static const struct event_opener late = {open_of_successor, NULL};
	struct tracee_host *host = tracee_host_new();
	struct proc_schedstat clocks;
	struct err err = ERR_INIT;
	struct tracee tracee;
	pid_t child = fork();

	if (child == 0)
		pause();
	tracee_open(&tracee, host, child, child);
	assert_true(tracee_clocks(&tracee, &clocks));
	assert_int_equal(tracee_count_events(&tracee, &late, OF_EVENTS, &err), ERR_GONE);
	assert_null(tracee.events);
	tracee_close(&tracee);
	tracee_host_free(host);
}
