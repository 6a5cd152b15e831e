// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that the kernel keeps for each thread. */
#include "proc/kernel_counters.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/event_counter.h"
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

/*
 * The hardware counts in user mode only: this needs no privilege, and excludes the work of the
 * kernel for profc's own stops.
 */
static const struct counted_event {
	enum kernel_counter counter;
	struct event event;
} counted_events[] = {
	{KERNEL_COUNTER_INSTRUCTIONS, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false}},
	{KERNEL_COUNTER_CYCLES, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false}},
	{KERNEL_COUNTER_CACHE_MISSES, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false}},
	{KERNEL_COUNTER_BRANCH_MISSES, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false}},
	{KERNEL_COUNTER_MIGRATIONS, {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true}},
};

unsigned int kernel_counters_in_file(enum kernel_counter_file file, unsigned int wanted)
{
	return sources[file].counters & wanted;
}

unsigned int kernel_counters_of_events(unsigned int wanted)
{
	unsigned int found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counted_events); i++)
		found |= KERNEL_COUNTER_BIT(counted_events[i].counter) & wanted;
	return found;
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

struct kernel_events {
	size_t nr;
	struct {
		enum kernel_counter of;
		struct event_counter counter;
	} rows[ARRAY_SIZE(counted_events)];
};

int kernel_events_open(struct kernel_events **out, const struct event_opener *opener, pid_t tid,
		       unsigned int wanted, enum event_start start, struct err *err)
{
	struct kernel_events *events = xcalloc(1, sizeof(*events));
	int status = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counted_events) && status == 0; i++) {
		const struct counted_event *counted = &counted_events[i];

		if (!(wanted & KERNEL_COUNTER_BIT(counted->counter)))
			continue;
		events->rows[events->nr].of = counted->counter;
		status = event_counter_open(&events->rows[events->nr].counter, opener,
					    &counted->event, tid, start, err);
		events->nr += status == 0;
	}
	if (status == 0)
		*out = events;
	else
		kernel_events_free(events);
	return status;
}

void kernel_events_free(struct kernel_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->nr; i++)
		event_counter_close(&events->rows[i].counter);
	free(events);
}

size_t kernel_events_nr(const struct kernel_events *events)
{
	return events->nr;
}

unsigned int kernel_events_read(struct kernel_events *events, struct kernel_counters *out)
{
	unsigned int found = 0;

	for (size_t i = 0; i < events->nr; i++) {
		if (!event_counter_read(&events->rows[i].counter))
			continue;
		out->values[events->rows[i].of] = events->rows[i].counter.sum;
		found |= KERNEL_COUNTER_BIT(events->rows[i].of);
	}
	return found;
}

struct kernel_event_times kernel_events_times(const struct kernel_events *events)
{
	struct kernel_event_times times = {0};

	for (size_t i = 0; i < events->nr; i++) {
		times.enabled_ns += events->rows[i].counter.enabled_ns;
		times.running_ns += events->rows[i].counter.running_ns;
	}
	return times;
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

static int check_events(const struct event_opener *opener, unsigned int wanted, struct err *err)
{
	struct kernel_counters counters;
	struct kernel_event_times times;
	struct kernel_events *events = NULL;
	bool is_read;
	int status = kernel_events_open(&events, opener, 0, wanted, EVENT_FROM_NOW, err);

	if (!events)
		return status;
	is_read = kernel_events_read(events, &counters) == wanted;
	times = kernel_events_times(events);
	kernel_events_free(events);
	if (!is_read || (times.enabled_ns && !times.running_ns))
		return err_set(err, ERR_UNSUPPORTED,
			       "the hardware has no counter left: another program has them all");
	return 0;
}

int kernel_counters_check(const struct event_opener *opener, unsigned int wanted, struct err *err)
{
	unsigned int of_events = kernel_counters_of_events(wanted);
	int status = 0;

	for (int file = 0; file < NR_KERNEL_COUNTER_FILES && status == 0; file++)
		if (kernel_counters_in_file((enum kernel_counter_file)file, wanted))
			status = check_file((enum kernel_counter_file)file, wanted, err);
	return status || !of_events ? status : check_events(opener, of_events, err);
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
