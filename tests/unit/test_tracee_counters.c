// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of a thread, of files that stay open. */
#include <fcntl.h>
#include <unistd.h>

#include "proc/kernel_counters.h"
#include "tests/unit/unit.h"
#include "tracee/tracee.h"

#define FAULTS	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS)
#define SWITCHES KERNEL_COUNTER_BIT(KERNEL_COUNTER_SWITCHES)
#define WRITTEN	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_WRITTEN_BYTES)

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
