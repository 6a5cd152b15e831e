// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/scan.h"
#include "proc/read.h"

#define LEAST_PAUSE_NS (200 * NS_PER_MS)
/* The least pause grows with the age of the recording, by this part of it, up to here. */
#define AGE_PART      64
#define LONG_PAUSE_NS (2 * NS_PER_SEC)
/* A reading takes no more than this part of the time; from some age on, a quarter of that. */
#define READING_PART	  256
#define LONG_READING_PART 1024
#define LONG_AGE_NS	  (60 * NS_PER_SEC)
/* Below this share of all CPUs nothing has to wait: the times of processes are read later. */
#define BUSY_PART 2
/* Names of more programs are not kept. */
#define PROGRAMS_MAX 1024

/* A process, as last read. */
struct seen {
	pid_t pid, parent;
	uint64_t start_ticks;
	uint64_t ticks;	      /* of its threads, */
	uint64_t child_ticks; /* and of its reaped children, with theirs */
	/*
	 * What child_ticks have advanced by beyond the times of children that were seen. Below 0:
	 * children are gone, and the next reading may have them.
	 */
	int64_t unseen_ticks;
	char name[PROC_COMM_MAX_BYTES];
};

struct seen_list {
	struct seen *rows; /* by pid; owned */
	size_t nr, cap;
};

struct machine_meter {
	machine_is_ours *is_ours;
	void *context;
	uint64_t tick_ns, begun_ticks, begun_ns, again_ns;
	size_t nr_readings;
	struct machine_times first, last, last_busy; /* last_busy: when processes were read */
	struct seen_list seen;
	struct machine_program *programs; /* owned */
	size_t nr_programs, cap_programs;
};

/* The places of the numbers in the first line of /proc/stat, from 1 on: proc_stat(5). */
#define PLACE_IDLE   4
#define PLACE_IOWAIT 5
#define PLACE_STEAL  8

bool machine_times_parse(const char *text, size_t size, uint64_t tick_ns,
			 struct machine_times *times)
{
	static const char name[] = "cpu ";
	struct scan scan = {.at = text + strlen(name), .end = text + size};
	struct machine_times sum = {0};

	if (size < strlen(name) || memcmp(text, name, strlen(name)) != 0)
		return false;
	/* The times of guests, which come after these, are in that of users. */
	for (int place = 1; place <= PLACE_STEAL; place++) {
		uint64_t ticks;

		scan_blanks(&scan);
		if (!scan_decimal(&scan, &ticks) || scan.at == scan.end)
			return false;
		if (place == PLACE_IDLE || place == PLACE_IOWAIT)
			sum.idle_ns += ticks * tick_ns;
		else if (place == PLACE_STEAL)
			sum.stolen_ns += ticks * tick_ns;
		else
			sum.busy_ns += ticks * tick_ns;
	}
	*times = sum;
	return true;
}

struct machine_meter *machine_meter_new(machine_is_ours *is_ours, void *context)
{
	struct machine_meter *meter = xcalloc(1, sizeof(*meter));

	meter->is_ours = is_ours;
	meter->context = context;
	meter->tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	return meter;
}

void machine_meter_free(struct machine_meter *meter)
{
	if (!meter)
		return;
	for (size_t i = 0; i < meter->nr_programs; i++)
		free(meter->programs[i].name);
	free(meter->programs);
	free(meter->seen.rows);
	free(meter);
}

static void add_to_program(struct machine_meter *meter, const char *name, bool is_of_children,
			   uint64_t ticks)
{
	size_t i = 0;

	if (!ticks)
		return;
	while (i < meter->nr_programs && (meter->programs[i].is_of_children != is_of_children ||
					  strcmp(meter->programs[i].name, name) != 0))
		i++;
	if (i == PROGRAMS_MAX)
		return;
	if (i == meter->nr_programs) {
		ARRAY_GROW(meter->programs, meter->nr_programs, meter->cap_programs);
		meter->programs[meter->nr_programs++] = (struct machine_program){
			.name = xstrdup(name), .is_of_children = is_of_children};
	}
	meter->programs[i].cpu_ns += ticks * meter->tick_ns;
}

/* --- processes --- */

static int by_pid(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct seen *find(const struct seen_list *list, pid_t pid)
{
	const struct seen key = {.pid = pid};

	return list->nr ? bsearch(&key, list->rows, list->nr, sizeof(key), by_pid) : NULL;
}

static struct seen_list read_processes(const struct machine_meter *meter)
{
	struct seen_list list = {.rows = NULL};
	DIR *directory = opendir("/proc");
	pid_t pid;

	while (directory && (pid = proc_next_id(directory))) {
		struct proc_stat stat;
		struct seen *seen;

		if (meter->is_ours(meter->context, pid) || !proc_read_process_stat(pid, &stat) ||
		    meter->is_ours(meter->context, stat.ppid))
			continue;
		ARRAY_GROW(list.rows, list.nr, list.cap);
		seen = &list.rows[list.nr++];
		*seen = (struct seen){.pid = pid,
				      .parent = stat.ppid,
				      .start_ticks = stat.start_ticks,
				      .ticks = stat.user_ticks + stat.system_ticks,
				      .child_ticks = stat.child_ticks};
		memcpy(seen->name, stat.comm, sizeof(seen->name));
	}
	if (directory)
		closedir(directory);
	if (list.nr)
		qsort(list.rows, list.nr, sizeof(*list.rows), by_pid);
	return list;
}

/* The process as it was at the last reading; NULL: it has begun since, or is older, but not seen.
 */
static const struct seen *former_of(const struct machine_meter *meter, const struct seen *now)
{
	const struct seen *before = find(&meter->seen, now->pid);

	return before && before->start_ticks == now->start_ticks ? before : NULL;
}

/* Due to the kernel's scaling it may decrease by a tick. */
static uint64_t advance(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void add_own(struct machine_meter *meter, struct seen *now)
{
	const struct seen *before = former_of(meter, now);
	struct seen nothing = {0};

	if (!before && now->start_ticks < meter->begun_ticks)
		return;
	before = before ? before : &nothing;
	add_to_program(meter, now->name, false, advance(now->ticks, before->ticks));
	now->unseen_ticks = (int64_t)advance(now->child_ticks, before->child_ticks) +
			    (before->unseen_ticks < 0 ? before->unseen_ticks : 0);
}

/* How many processes may be between one and an ancestor that has not ended. */
#define ANCESTORS_MAX 64

/*
 * The time of a child that is gone was seen, as far as it had used it by then. If its parent is
 * gone as well, it is in the time of the next ancestor.
 */
static void take_from_ancestor(const struct machine_meter *meter, struct seen_list *now,
			       const struct seen *gone)
{
	const struct seen *child = gone;
	struct seen *parent = find(now, child->parent);

	for (int i = 0; !parent && child && i < ANCESTORS_MAX; i++) {
		child = find(&meter->seen, child->parent);
		parent = child ? find(now, child->parent) : NULL;
	}
	if (parent)
		parent->unseen_ticks -= (int64_t)(gone->ticks + gone->child_ticks);
}

/* A child that came to another parent brings the time from before: more than all CPUs had. */
static void add_unseen(struct machine_meter *meter, struct seen *now, uint64_t busy_ticks)
{
	const struct seen *before = former_of(meter, now);

	if (now->unseen_ticks > 0 && (uint64_t)now->unseen_ticks <= busy_ticks)
		add_to_program(meter, now->name, true, (uint64_t)now->unseen_ticks);
	/* What has not come by the next reading never comes: its parent does not wait for it. */
	if (now->unseen_ticks > 0 || (before && before->unseen_ticks < 0))
		now->unseen_ticks = 0;
}

/* `busy_ticks`: of all CPUs since the last reading. */
static void compare_processes(struct machine_meter *meter, uint64_t busy_ticks)
{
	struct seen_list now = read_processes(meter);

	for (size_t i = 0; i < now.nr; i++)
		add_own(meter, &now.rows[i]);
	for (size_t i = 0; i < meter->seen.nr; i++) {
		const struct seen *before = &meter->seen.rows[i];
		const struct seen *same = find(&now, before->pid);

		if (!same || same->start_ticks != before->start_ticks)
			take_from_ancestor(meter, &now, before);
	}
	for (size_t i = 0; i < now.nr; i++)
		add_unseen(meter, &now.rows[i], busy_ticks);
	free(meter->seen.rows);
	meter->seen = now;
}

/* --- readings --- */

static bool read_times(const struct machine_meter *meter, struct machine_times *times)
{
	struct buf text = {0};
	bool is_read = proc_read_file("/proc/stat", &text) &&
		       machine_times_parse(buf_str(&text), text.nr_bytes, meter->tick_ns, times);

	buf_release(&text);
	return is_read;
}

static struct machine_times times_since(const struct machine_times *now,
					const struct machine_times *before)
{
	return (struct machine_times){.busy_ns = advance(now->busy_ns, before->busy_ns),
				      .idle_ns = advance(now->idle_ns, before->idle_ns),
				      .stolen_ns = advance(now->stolen_ns, before->stolen_ns)};
}

static void begin(struct machine_meter *meter, const struct machine_times *now)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	meter->begun_ticks =
		((uint64_t)boot.tv_sec * NS_PER_SEC + (uint64_t)boot.tv_nsec) / meter->tick_ns;
	meter->first = meter->last_busy = *now;
	meter->seen = read_processes(meter);
}

/* In a long recording, a part of a second more or less matters little. */
static uint64_t pause_ns(const struct machine_meter *meter, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t age_ns = now_ns - meter->begun_ns;
	uint64_t least_ns = max_u64(LEAST_PAUSE_NS, min_u64(age_ns / AGE_PART, LONG_PAUSE_NS));

	return max_u64(least_ns,
		       (age_ns < LONG_AGE_NS ? READING_PART : LONG_READING_PART) * took_ns);
}

void machine_meter_read(struct machine_meter *meter, uint64_t now_ns, bool is_last)
{
	struct machine_times now, since;

	if ((!is_last && now_ns < meter->again_ns) || !read_times(meter, &now))
		return;
	since = times_since(&now, &meter->last_busy);
	if (!meter->nr_readings) {
		begin(meter, &now);
	} else if (is_last || BUSY_PART * since.busy_ns >= since.busy_ns + since.idle_ns) {
		compare_processes(meter, (since.busy_ns + since.stolen_ns) / meter->tick_ns);
		meter->last_busy = now;
	}
	if (!meter->nr_readings++)
		meter->begun_ns = now_ns;
	meter->last = now;
	meter->again_ns = now_ns + pause_ns(meter, now_ns, clock_monotonic_ns() - now_ns);
}

struct machine_times machine_meter_times(const struct machine_meter *meter)
{
	return times_since(&meter->last, &meter->first);
}

static int heavier_first(const void *left, const void *right)
{
	const struct machine_program *a = left, *b = right;

	return (a->cpu_ns < b->cpu_ns) - (a->cpu_ns > b->cpu_ns);
}

const struct machine_program *machine_meter_programs(struct machine_meter *meter, size_t *nr)
{
	if (meter->nr_programs)
		qsort(meter->programs, meter->nr_programs, sizeof(*meter->programs), heavier_first);
	*nr = meter->nr_programs;
	return meter->programs;
}
