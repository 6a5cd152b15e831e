// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches processes for pointers to live blocks, as they end or at a mark. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "heap/reach.h"
#include "probe/prober.h"
#include "probe/reach_search.h"
#include "sampler/heap_reader_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/searching_priv.h"

/* At most so many at a time: a process that writes garbage to shared memory must not keep us. */
#define EXITS_MAX 16

/* NULL: the recording has no search. */
static struct reach *reach_of(const struct sampler *sampler)
{
	return sampler->options.prober ? prober_reach(sampler->options.prober) : NULL;
}

static bool is_ended(const void *context)
{
	const struct sampler *sampler = context;

	return atomic_load(&sampler->session->ends_search) ||
	       (sampler->options.ended && atomic_load(sampler->options.ended));
}

/* False: nothing is alive there. */
static bool search(struct sampler *sampler, struct consumer *consumer,
		   const struct roster_process *roster, bool is_last, struct block_search *found)
{
	uint32_t serial = ((const struct sampled_process *)roster->owner)->serial;
	bool is_command = roster->pid == sampler->options.targets.command;
	const struct reach_request request = {.pid = roster->pid,
					      .command = is_command ? roster->pid : 0,
					      .is_last = is_last,
					      .is_ended = is_ended,
					      .context = sampler};

	heap_read_at_once(sampler, consumer);
	if (!reach_is_due(reach_of(sampler), serial))
		return false;
	reach_search(reach_of(sampler), serial, &request);
	heap_read_at_once(sampler, consumer);
	reach_take(reach_of(sampler), found);
	return true;
}

static void add_last(struct consumer *consumer, uint32_t process, struct block_search *found)
{
	consumer_add_search(
		consumer, found,
		&(struct searched){.process = process, .time_ns = clock_monotonic_ns()});
	block_search_release(found);
}

static void search_for_last(struct sampler *sampler, struct consumer *consumer,
			    const struct roster_process *roster)
{
	uint32_t serial = ((const struct sampled_process *)roster->owner)->serial;
	struct block_search found;

	/* A birth since the search was asked for is still in the queue. */
	if (consumer_pid_of(consumer, serial) && search(sampler, consumer, roster, true, &found))
		add_last(consumer, serial, &found);
}

static const char *why_not_searched(enum process_end how)
{
	switch (how) {
	case PROCESS_EXECUTED:
		return "it executed another program";
	case PROCESS_FOUND_LATE:
		return "it ended before it was found";
	case PROCESS_ENDED:
		break;
	}
	return "it ended by a signal, or without _exit() of its C library";
}

void search_gone(struct sampler *sampler, struct consumer *consumer, uint32_t process,
		 enum process_end how)
{
	struct reach *reach = reach_of(sampler);
	struct block_search found;

	if (!reach || !reach_is_due(reach, process))
		return;
	reach_give_up(reach, process, why_not_searched(how));
	reach_take(reach, &found);
	add_last(consumer, process, &found);
}

/* Searches run on the collector's thread, which knows the blocks. */
struct searching {
	struct sampler *sampler;
	pid_t pid;
	const char *mark;
	struct sampler_search *sum;
};

static void run_search(void *context, struct consumer *consumer)
{
	const struct searching *searching = context;

	const struct roster_process *process =
		roster_find_process(searching->sampler->roster, searching->pid);

	if (process)
		search_for_last(searching->sampler, consumer, process);
}

void search_leaving(struct sampler *sampler)
{
	struct searching searching = {.sampler = sampler};
	const struct roster_process *process;
	struct prober_exit exit;

	atomic_store(&sampler->session->ends_search, false);
	for (int i = 0;
	     i < EXITS_MAX && reach_of(sampler) && prober_next_exit(sampler->options.prober, &exit);
	     i++) {
		process = roster_look_for(sampler->roster, exit.pid); /* it may be new */
		searching.pid = exit.pid;
		if (process &&
		    prober_is_writer(sampler->options.prober, exit.owner,
				     ((const struct sampled_process *)process->owner)->serial))
			heap_run(sampler, run_search, &searching);
		heap_exit_let_go(exit.shared, &exit.waiting);
	}
}

static void run_all(void *context, struct consumer *consumer)
{
	const struct searching *searching = context;
	const struct roster *roster = searching->sampler->roster;

	for (size_t i = 0; i < roster_nr_processes(roster); i++)
		search_for_last(searching->sampler, consumer, roster_process_at(roster, i));
}

void search_all(struct sampler *sampler)
{
	struct searching searching = {.sampler = sampler};

	if (!reach_of(sampler))
		return;
	/* The request to end the recording must not end this search, which belongs to the end. */
	atomic_store(&sampler->session->ends_search, false);
	heap_run(sampler, run_all, &searching);
	prober_end_exits(sampler->options.prober);
}

/* Add up the time that processes were stopped, and the bytes read. */
static void sum_up(const struct block_search *found, struct sampler_search *sum)
{
	sum->nr_processes += !found->why_not;
	sum->nr_failed += found->why_not != NULL;
	sum->nr_bytes += found->nr_bytes;
	if (found->stop_ns > sum->stop_ns_max)
		sum->stop_ns_max = found->stop_ns;
	for (size_t i = 0; i < found->nr; i++)
		sum->nr_lost += found->verdicts[i].is_lost;
}

struct found_at_mark {
	uint32_t process;
	struct block_search found;
};

/*
 * The mark has the time at which the last process was stopped. All results get this time, by which
 * views find them.
 */
static void search_at_mark(void *context, struct consumer *consumer)
{
	const struct searching *searching = context;
	struct sampler *sampler = searching->sampler;
	size_t nr = roster_nr_processes(sampler->roster), nr_found = 0;
	struct found_at_mark *found = xcalloc(nr, sizeof(*found));
	uint64_t at_ns = clock_monotonic_ns();

	for (size_t i = 0; i < nr && i < roster_nr_processes(sampler->roster); i++) {
		const struct roster_process *roster = roster_process_at(sampler->roster, i);
		struct found_at_mark *at = &found[nr_found];

		at->process = ((const struct sampled_process *)roster->owner)->serial;
		if (!consumer_pid_of(consumer, at->process) ||
		    !search(sampler, consumer, roster, false, &at->found))
			continue;
		if (at->found.at_ns > at_ns)
			at_ns = at->found.at_ns;
		nr_found++;
	}
	for (size_t i = 0; i < nr_found; i++) {
		sum_up(&found[i].found, searching->sum);
		consumer_add_search(consumer, &found[i].found,
				    &(struct searched){.process = found[i].process,
						       .mark = searching->mark,
						       .time_ns = at_ns});
		block_search_release(&found[i].found);
	}
	collector_mark(sampler->collector, searching->mark, at_ns);
	free(found);
}

bool sampler_search_memory(struct sampler *sampler, const char *text, struct sampler_search *sum)
{
	struct searching searching = {.sampler = sampler, .mark = text, .sum = sum};
	bool is_over;

	*sum = (struct sampler_search){0};
	pthread_mutex_lock(&sampler->lock);
	is_over = sampler->session->is_over;
	if (!is_over) {
		atomic_store(&sampler->session->ends_search, false);
		roster_poll_all(sampler->roster, clock_monotonic_ns());
		heap_run(sampler, search_at_mark, &searching);
	}
	pthread_mutex_unlock(&sampler->lock);
	return !is_over;
}
