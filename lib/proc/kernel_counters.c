// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that the kernel keeps for each thread. */
#include "proc/kernel_counters.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/read.h"
#include "proc/task.h"

static bool parse_stat(const char *text, size_t nr_bytes, struct kernel_counters *out)
{
	struct proc_stat stat;

	if (!proc_stat_parse(text, nr_bytes, &stat))
		return false;
	out->values[KERNEL_COUNTER_FAULTS] = stat.nr_faults + stat.nr_major_faults;
	return true;
}

static bool parse_schedstat(const char *text, size_t nr_bytes, struct kernel_counters *out)
{
	struct proc_schedstat clocks;

	if (!proc_schedstat_parse(text, nr_bytes, &clocks))
		return false;
	out->values[KERNEL_COUNTER_SWITCHES] = clocks.pcount;
	return true;
}

static bool parse_io(const char *text, size_t nr_bytes, struct kernel_counters *out)
{
	return proc_io_parse(text, nr_bytes, &out->values[KERNEL_COUNTER_READ_BYTES],
			     &out->values[KERNEL_COUNTER_WRITTEN_BYTES]);
}

static const struct source {
	const char *file;
	unsigned int counters;
	bool sums_processes; /* /proc/PID/FILE is of all threads, those that have ended included */
	bool (*parse)(const char *text, size_t nr_bytes, struct kernel_counters *out);
} sources[NR_KERNEL_COUNTER_FILES] = {
	[KERNEL_COUNTERS_IN_STAT] = {"stat", KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS), true,
				     parse_stat},
	[KERNEL_COUNTERS_IN_SCHEDSTAT] = {"schedstat", KERNEL_COUNTER_BIT(KERNEL_COUNTER_SWITCHES),
					  false, parse_schedstat},
	[KERNEL_COUNTERS_IN_IO] = {"io",
				   KERNEL_COUNTER_BIT(KERNEL_COUNTER_READ_BYTES) |
					   KERNEL_COUNTER_BIT(KERNEL_COUNTER_WRITTEN_BYTES),
				   true, parse_io},
};

unsigned int kernel_counters_in_file(enum kernel_counter_file file, unsigned int wanted)
{
	return sources[file].counters & wanted;
}

bool kernel_counters_read_file(int fd, enum kernel_counter_file file, unsigned int wanted,
			       struct kernel_counters *out)
{
	struct kernel_counters counters;
	char text[1024];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	wanted = kernel_counters_in_file(file, wanted);
	if (got <= 0 || !sources[file].parse(text, (size_t)got, &counters))
		return false;
	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		if (wanted & KERNEL_COUNTER_BIT(i))
			out->values[i] = counters.values[i];
	return true;
}

unsigned int kernel_counters_read_process(pid_t pid, unsigned int wanted,
					  struct kernel_counters *out)
{
	unsigned int found = 0;

	*out = (struct kernel_counters){{0}};
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct buf text = {0};

		if (sources[i].sums_processes && wanted & sources[i].counters &&
		    proc_read_process_file(pid, sources[i].file, &text) &&
		    sources[i].parse((const char *)text.bytes, text.nr_bytes, out))
			found |= sources[i].counters & wanted;
		buf_release(&text);
	}
	kernel_counters_keep(out, found);
	return found;
}

static int check_file(enum kernel_counter_file file, unsigned int wanted, struct err *err)
{
	cleanup_close int fd = proc_open_task_file(getpid(), getpid(), sources[file].file);
	struct kernel_counters counters = {{0}};

	if (fd < 0 || !kernel_counters_read_file(fd, file, wanted, &counters))
		return err_set(err, ERR_SYS, "this kernel has no /proc/PID/task/TID/%s",
			       sources[file].file);
	/* Built without CONFIG_SCHED_INFO: the caller has been given a CPU. */
	if (file == KERNEL_COUNTERS_IN_SCHEDSTAT && !counters.values[KERNEL_COUNTER_SWITCHES])
		return err_set(err, ERR_SYS, "this kernel does not count how often threads run");
	return 0;
}

int kernel_counters_check(unsigned int wanted, struct err *err)
{
	int status = 0;

	for (int file = 0; file < NR_KERNEL_COUNTER_FILES && status == 0; file++)
		if (kernel_counters_in_file((enum kernel_counter_file)file, wanted))
			status = check_file((enum kernel_counter_file)file, wanted, err);
	return status;
}

struct kernel_counters kernel_counters_since(const struct kernel_counters *now,
					     const struct kernel_counters *before)
{
	struct kernel_counters since;

	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		since.values[i] =
			now->values[i] > before->values[i] ? now->values[i] - before->values[i] : 0;
	return since;
}

void kernel_counters_add(struct kernel_counters *sum, const struct kernel_counters *more)
{
	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		sum->values[i] += more->values[i];
}

void kernel_counters_keep(struct kernel_counters *counters, unsigned int set)
{
	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		if (!(set & KERNEL_COUNTER_BIT(i)))
			counters->values[i] = 0;
}

unsigned int kernel_counters_set(const struct kernel_counters *counters)
{
	unsigned int set = 0;

	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		set |= counters->values[i] ? KERNEL_COUNTER_BIT(i) : 0;
	return set;
}
