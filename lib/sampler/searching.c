// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches processes for pointers to live blocks, as they end or at a mark. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "heap/reach.h"
#include "probe/prober.h"
#include "probe/reach_search.h"
#include "sampler/sampler_priv.h"
#include "sampler/searching_priv.h"

/* At most so many at a time: a process that writes garbage to shared memory must not keep us. */
#define EXITS_MAX 16

/* NULL: the recording has no search. */
static struct reach *reach_of(const struct sampler *sampler)
{
	return sampler->options.prober ? prober_reach(sampler->options.prober) : NULL;
}

/* The result of the last search, to be published after all allocations that it covers. */
static struct message *take_found(struct sampler *sampler, const struct sampled_process *process)
{
	struct message *message = message_new(MESSAGE_SEARCHED, clock_monotonic_ns());

	message->body.search.process = process->serial;
	reach_take(reach_of(sampler), &message->body.search.found);
	return message;
}

static bool is_ended(const void *context)
{
	const struct sampler *sampler = context;

	return atomic_load(&sampler->session->ends_search) ||
	       (sampler->options.ended && atomic_load(sampler->options.ended));
}

/* NULL: there is no live block. */
static struct message *search(struct sampler *sampler, const struct roster_process *roster,
			      bool is_last)
{
	const struct sampled_process *process = roster->owner;
	bool is_command = sampler->options.run && roster->pid == sampler->options.pids[0];
	const struct reach_request request = {.pid = roster->pid,
					      .command = is_command ? roster->pid : 0,
					      .is_last = is_last,
					      .is_ended = is_ended,
					      .context = sampler};

	heap_drain(sampler, NULL, true);
	if (!reach_is_due(reach_of(sampler), process->serial))
		return NULL;
	reach_search(reach_of(sampler), process->serial, &request);
	heap_drain(sampler, NULL, true);
	return take_found(sampler, process);
}

static void search_for_last(struct sampler *sampler, const struct roster_process *roster)
{
	struct message *message = search(sampler, roster, true);

	if (message)
		collector_publish(sampler->collector, message);
}

void search_gone(struct sampler *sampler, const struct sampled_process *process)
{
	struct reach *reach = reach_of(sampler);

	if (!reach || !reach_is_due(reach, process->serial))
		return;
	reach_give_up(reach, process->serial,
		      process->cpu.is_continued
			      ? "it executed another program"
			      : "it ended by a signal, or without _exit() of its C library");
	collector_publish(sampler->collector, take_found(sampler, process));
}

void search_leaving(struct sampler *sampler)
{
	const struct roster_process *process;
	struct prober_exit exit;

	atomic_store(&sampler->session->ends_search, false);
	for (int i = 0;
	     i < EXITS_MAX && reach_of(sampler) && prober_next_exit(sampler->options.prober, &exit);
	     i++) {
		process = roster_look_for(sampler->roster, exit.pid); /* it may be new */
		if (process &&
		    prober_is_exit_of(sampler->options.prober, &exit,
				      ((const struct sampled_process *)process->owner)->serial))
			search_for_last(sampler, process);
		heap_exit_let_go(exit.shared, &exit.waiting);
	}
}

void search_all(struct sampler *sampler)
{
	if (!reach_of(sampler))
		return;
	/* The request to end the recording must not end this search, which belongs to the end. */
	atomic_store(&sampler->session->ends_search, false);
	for (size_t i = 0; i < roster_nr_processes(sampler->roster); i++)
		search_for_last(sampler, roster_process_at(sampler->roster, i));
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

/*
 * The mark has the time at which the last process was stopped. All results get this time, by which
 * views find them.
 */
static void search_at_mark(struct sampler *sampler, const char *text, struct sampler_search *sum)
{
	uint64_t at_ns = clock_monotonic_ns();
	size_t nr, nr_found = 0;
	struct message **found;

	roster_poll_all(sampler->roster, at_ns);
	heap_drain(sampler, NULL, true);
	nr = roster_nr_processes(sampler->roster);
	found = xcalloc(nr, sizeof(struct message *));
	for (size_t i = 0; i < nr; i++) {
		struct message *message =
			search(sampler, roster_process_at(sampler->roster, i), false);

		if (!message)
			continue;
		if (message->body.search.found.at_ns > at_ns)
			at_ns = message->body.search.found.at_ns;
		found[nr_found++] = message;
	}
	for (size_t i = 0; i < nr_found; i++) {
		sum_up(&found[i]->body.search.found, sum);
		found[i]->body.search.mark = xstrdup(text);
		found[i]->time_ns = at_ns;
		collector_publish(sampler->collector, found[i]);
	}
	collector_mark(sampler->collector, text, at_ns);
	free(found);
}

bool sampler_search_memory(struct sampler *sampler, const char *text, struct sampler_search *sum)
{
	bool is_over;

	*sum = (struct sampler_search){0};
	pthread_mutex_lock(&sampler->lock);
	is_over = sampler->session->is_over;
	if (!is_over) {
		atomic_store(&sampler->session->ends_search, false);
		search_at_mark(sampler, text, sum);
	}
	pthread_mutex_unlock(&sampler->lock);
	return !is_over;
}
