// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that the kernel keeps for each thread. */
#include "proc/kernel_counters.h"

#include <stdio.h>
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
} sources[] = {
	{"stat", KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS), true, parse_stat},
	{"schedstat", KERNEL_COUNTER_BIT(KERNEL_COUNTER_SWITCHES), false, parse_schedstat},
	{"io",
	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_READ_BYTES) |
		 KERNEL_COUNTER_BIT(KERNEL_COUNTER_WRITTEN_BYTES),
	 true, parse_io},
};

static void drop_others(struct kernel_counters *counters, unsigned int wanted)
{
	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		if (!(wanted & KERNEL_COUNTER_BIT(i)))
			counters->values[i] = 0;
}

/* tid 0: those of the process. */
static bool read_source(const struct source *source, pid_t tgid, pid_t tid,
			struct kernel_counters *out)
{
	struct buf text = {0};
	char path[64];
	bool is_read;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)tgid, (int)tid,
			 source->file);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)tgid, source->file);
	is_read = proc_read_file(path, &text) &&
		  source->parse((const char *)text.bytes, text.nr_bytes, out);
	buf_release(&text);
	return is_read;
}

bool kernel_counters_read(pid_t tgid, pid_t tid, unsigned int wanted, struct kernel_counters *out)
{
	struct kernel_counters counters = {{0}};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (wanted & sources[i].counters && !read_source(&sources[i], tgid, tid, &counters))
			return false;
	drop_others(&counters, wanted);
	*out = counters;
	return true;
}

unsigned int kernel_counters_read_process(pid_t pid, unsigned int wanted,
					  struct kernel_counters *out)
{
	unsigned int found = 0;

	*out = (struct kernel_counters){{0}};
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i].sums_processes && wanted & sources[i].counters &&
		    read_source(&sources[i], pid, 0, out))
			found |= sources[i].counters & wanted;
	drop_others(out, found);
	return found;
}

int kernel_counters_check(unsigned int wanted, struct err *err)
{
	struct kernel_counters counters = {{0}};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!(wanted & sources[i].counters) ||
		    read_source(&sources[i], getpid(), getpid(), &counters))
			continue;
		return err_set(err, ERR_SYS, "this kernel has no /proc/PID/task/TID/%s",
			       sources[i].file);
	}
	/* Built without CONFIG_SCHED_INFO: who reads this has been given a CPU. */
	if (wanted & KERNEL_COUNTER_BIT(KERNEL_COUNTER_SWITCHES) &&
	    !counters.values[KERNEL_COUNTER_SWITCHES])
		return err_set(err, ERR_SYS, "this kernel does not count how often threads run");
	return 0;
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

unsigned int kernel_counters_set(const struct kernel_counters *counters)
{
	unsigned int set = 0;

	for (int i = 0; i < NR_KERNEL_COUNTERS; i++)
		set |= counters->values[i] ? KERNEL_COUNTER_BIT(i) : 0;
	return set;
}
