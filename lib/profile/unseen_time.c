// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides the CPU time of processes that were never found among samples, by ancestor. */
#include "profile/unseen_time.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "profile/share_out.h"

/* USER_HZ, the unit of children_ns: user and system time are each rounded down to it. */
#define TICK_NS (10 * NS_PER_MS)

/* Unseen time that is known apart: below one process, or what remains of a run. */
struct part {
	uint64_t ns; /* that its samples stand for */
	uint64_t nr, nr_done;
};

/* A process as an ancestor. */
struct ancestor {
	uint64_t known_ns; /* CPU time of descendants that it has reaped: found, or known apart */
	uint64_t until_ns; /* as far as known up to its end, also before it executed its program */
	uint64_t nr;	   /* samples that stand for unseen time below it, and not apart */
	bool is_apart;
	struct part part;
};

/* A process goes on in another row when it executes a program. */
struct course {
	uint32_t process;
	uint32_t first; /* the row in which it began */
};

struct division {
	const struct unseen_division *of;
	struct course *courses; /* in the order of their first rows, then of rows; owned */
	uint32_t *next; /* by process: the row in which it goes on, or PROCESS_NONE; owned */
	struct ancestor *ancestors; /* by process; owned, as is the next */
	struct part *rests;	    /* by run: what is not known apart */
	uint64_t *apart_ns;	    /* by run: the sum of what is; owned */
	uint64_t *until_ns; /* by run: its last end, which all have that outlive it; owned */
};

/* A parent that comes later, which profc writes in no file, is ignored. */
static uint32_t parent_of(const struct division *division, uint32_t process)
{
	uint32_t parent = division->of->profile->processes[process].parent;

	return parent < process && division->of->processes[parent].run ==
					   division->of->processes[process].run
		       ? parent
		       : PROCESS_NONE;
}

/* Is it the same process after an exec? */
static bool continues(const struct division *division, uint32_t process, uint32_t parent)
{
	const struct profile_process *processes = division->of->profile->processes;

	return parent != PROCESS_NONE && processes[parent].pid == processes[process].pid;
}

static uint64_t end_of(const struct division *division, uint32_t process)
{
	while (division->next[process] != PROCESS_NONE)
		process = division->next[process];
	return division->of->profile->processes[process].end_ns;
}

/*
 * The row of its parent process, also for later programs of the process. A child may be found
 * before it is seen that its parent has executed the program which made it: so it is the row of the
 * program that was there when the process ended.
 */
static uint32_t reaper_of(const struct division *division, uint32_t process)
{
	const struct profile_process *processes = division->of->profile->processes;
	uint32_t parent = parent_of(division, process);
	uint64_t end_ns = end_of(division, process);

	while (continues(division, process, parent))
		parent = parent_of(division, parent);
	while (parent != PROCESS_NONE && division->next[parent] != PROCESS_NONE && end_ns &&
	       processes[division->next[parent]].start_ns <= end_ns)
		parent = division->next[parent];
	return parent;
}

static int compare_courses(const void *left, const void *right)
{
	const struct course *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

/* Afterwards the reaper of a process comes before it. */
static void put_in_order(struct division *division)
{
	uint32_t nr = (uint32_t)division->of->profile->nr_processes;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t parent = parent_of(division, i);
		bool goes_on = continues(division, i, parent);
		uint64_t *until_ns;

		until_ns = &division->until_ns[division->of->processes[i].run];
		*until_ns = max_u64(*until_ns, division->of->profile->processes[i].end_ns);
		division->next[i] = PROCESS_NONE;
		if (goes_on)
			division->next[parent] = i;
		division->courses[i] = (struct course){
			.process = i, .first = goes_on ? division->courses[parent].first : i};
	}
	qsort(division->courses, nr, sizeof(*division->courses), compare_courses);
}

/* Both roundings together take away a tick in the mean. */
static uint64_t reaped_ns(const struct profile_process *process)
{
	return process->children_ns ? process->children_ns + TICK_NS : 0;
}

/* The caller has seen all of its descendants, and what it was before an exec. */
static uint64_t unseen_below(const struct division *division, uint32_t process)
{
	const struct profile_process *processes = division->of->profile->processes;
	struct ancestor *ancestor = &division->ancestors[process];
	uint32_t parent = parent_of(division, process);
	uint64_t reaped = reaped_ns(&processes[process]);
	uint64_t known_ns = ancestor->known_ns;

	/* The kernel's sum goes on over execs. */
	if (continues(division, process, parent))
		known_ns += division->ancestors[parent].until_ns;
	ancestor->until_ns = max_u64(reaped, known_ns);
	return reaped > known_ns ? reaped - known_ns : 0;
}

/*
 * The number of samples in `ns` varies by its square root: is that more time than a tick of the
 * kernel? Without any sample, samples of ancestors stand for the time, unless it is so long that
 * something must have kept the ticks away.
 */
static bool is_known_apart(const struct division *division, const struct ancestor *ancestor,
			   uint64_t ns)
{
	uint64_t mean_ns = division->of->mean_ns;

	return mean_ns && ns >= TICK_NS * TICK_NS / mean_ns &&
	       (ancestor->nr || ns > division->of->most_ns);
}

/* One that ended after its parent was reaped by another, one that outlives the recording by none.
 */
static void pass_on(struct division *division, uint32_t process, uint32_t reaper)
{
	const struct profile_process *processes = division->of->profile->processes;
	uint64_t end_ns = end_of(division, process);

	if (end_ns && end_ns <= processes[reaper].end_ns &&
	    end_ns < division->until_ns[division->of->processes[process].run])
		division->ancestors[reaper].known_ns += division->of->processes[process].cpu_ns +
							division->ancestors[process].known_ns;
}

static void see_process(struct division *division, uint32_t process)
{
	const struct unseen_process *own = &division->of->processes[process];
	struct ancestor *ancestor = &division->ancestors[process];
	uint32_t reaper = reaper_of(division, process);
	uint64_t *apart_ns = &division->apart_ns[own->run];
	uint64_t ns = min_u64(unseen_below(division, process),
			      division->of->run_ns[own->run] - *apart_ns);
	uint64_t nr = own->stands;

	if (is_known_apart(division, ancestor, ns)) {
		ancestor->is_apart = true;
		ancestor->part = (struct part){
			.ns = min_u64(ns, share_bound(ancestor->nr, division->of->most_ns)),
			.nr = ancestor->nr};
		ancestor->known_ns += ns;
		*apart_ns += ns;
	} else {
		nr += ancestor->nr;
	}
	if (reaper == PROCESS_NONE) {
		division->rests[own->run].nr += nr;
		return;
	}
	division->ancestors[reaper].nr += nr;
	pass_on(division, process, reaper);
}

/* The time that the samples of a part may have beside what they have. */
static uint64_t room_of(const struct division *division, const struct part *part)
{
	uint64_t bound_ns = share_bound(part->nr, division->of->most_ns);

	return bound_ns - min_u64(bound_ns, part->ns);
}

static struct part *part_of(const struct division *division, uint32_t ancestor, uint32_t run)
{
	return ancestor == PROCESS_NONE ? &division->rests[run]
					: &division->ancestors[ancestor].part;
}

/* Time that the kernel rounded off, and that ancestors reaped after their last reading. */
static void spread_rest(struct division *division, uint32_t run, uint64_t ns)
{
	size_t nr = division->of->profile->nr_processes;
	uint64_t room_ns = 0, done_ns = 0;

	for (size_t i = 0; i < nr; i++)
		if (division->of->processes[i].run == run)
			room_ns += room_of(division, &division->ancestors[i].part);
	ns = min_u64(ns, room_ns);
	for (size_t i = 0; i < nr && ns; i++) {
		struct part *part = &division->ancestors[i].part;
		uint64_t own_ns = room_of(division, part);

		if (division->of->processes[i].run != run)
			continue;
		part->ns += share_of(ns, done_ns, done_ns + own_ns, room_ns);
		done_ns += own_ns;
	}
}

static void divide_rest(struct division *division, uint32_t run)
{
	struct part *rest = &division->rests[run];
	uint64_t ns = division->of->run_ns[run] - division->apart_ns[run];

	rest->ns = min_u64(ns, share_bound(rest->nr, division->of->most_ns));
	if (ns > rest->ns)
		spread_rest(division, run, ns - rest->ns);
}

static uint32_t nearest_apart(const struct division *division, uint32_t process)
{
	uint32_t reaper = reaper_of(division, process);

	if (reaper == PROCESS_NONE || division->ancestors[reaper].is_apart)
		return reaper;
	return division->of->processes[reaper].ancestor; /* it comes first */
}

static void give(struct division *division, uint32_t process)
{
	struct unseen_process *own = &division->of->processes[process];
	struct part *part;

	own->ancestor = nearest_apart(division, process);
	own->ns = 0;
	if (!own->stands)
		return;
	part = part_of(division, own->ancestor, own->run);
	own->ns = share_of(part->ns, part->nr_done, part->nr_done + 1, part->nr);
	part->nr_done++;
}

void unseen_divide(const struct unseen_division *of)
{
	uint32_t nr = (uint32_t)of->profile->nr_processes;
	struct division division = {.of = of,
				    .courses = xcalloc(nr + 1, sizeof(struct course)),
				    .next = xcalloc(nr + 1, sizeof(uint32_t)),
				    .ancestors = xcalloc(nr + 1, sizeof(struct ancestor)),
				    .rests = xcalloc(of->nr_runs + 1, sizeof(struct part)),
				    .apart_ns = xcalloc(of->nr_runs + 1, sizeof(uint64_t)),
				    .until_ns = xcalloc(of->nr_runs + 1, sizeof(uint64_t))};

	put_in_order(&division);
	/* Children before their parents; each with the programs that it has executed in order. */
	for (uint32_t end = nr, begin; end > 0; end = begin) {
		begin = end - 1;
		while (begin > 0 &&
		       division.courses[begin - 1].first == division.courses[begin].first)
			begin--;
		for (uint32_t i = begin; i < end; i++)
			see_process(&division, division.courses[i].process);
	}
	for (uint32_t run = 0; run < of->nr_runs; run++)
		divide_rest(&division, run);
	for (uint32_t i = 0; i < nr; i++)
		give(&division, division.courses[i].process);
	free(division.courses);
	free(division.next);
	free(division.ancestors);
	free(division.rests);
	free(division.apart_ns);
	free(division.until_ns);
}
