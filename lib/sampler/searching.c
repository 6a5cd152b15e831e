// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches of processes for pointers to blocks that are alive in their end. */
#include "base/clock.h"
#include "probe/prober.h"
#include "probe/reach.h"
#include "sampler/sampler_priv.h"
#include "sampler/searching_priv.h"

/* In one go: a process that writes nonsense into the memory that we share must not keep us. */
#define EXITS_MAX 16

/* NULL: nobody has asked for it. */
static struct reach *reach_of(const struct sampler *sampler)
{
	return sampler->options.prober ? prober_reach(sampler->options.prober) : NULL;
}

static void publish(struct sampler *sampler, const struct sampled_process *process)
{
	struct message *message = message_new(MESSAGE_SEARCHED, clock_monotonic_ns());

	message->body.search.process = process->serial;
	reach_take(reach_of(sampler), &message->body.search.found);
	collector_publish(sampler->collector, message);
}

static void search(struct sampler *sampler, const struct roster_process *roster)
{
	const struct sampled_process *process = roster->owner;
	bool is_command = sampler->options.run && roster->pid == sampler->options.pids[0];

	heap_drain(sampler, NULL, true);
	if (!reach_is_due(reach_of(sampler), process->serial))
		return;
	reach_search(reach_of(sampler), process->serial, roster->pid, is_command ? roster->pid : 0);
	heap_drain(sampler, NULL, true);
	publish(sampler, process);
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
	publish(sampler, process);
}

void search_leaving(struct sampler *sampler)
{
	const struct roster_process *process;
	struct prober_exit exit;

	for (int i = 0;
	     i < EXITS_MAX && reach_of(sampler) && prober_next_exit(sampler->options.prober, &exit);
	     i++) {
		roster_poll(sampler->roster, clock_monotonic_ns()); /* it may be just born */
		process = roster_find_process(sampler->roster, exit.pid);
		if (process)
			search(sampler, process);
		heap_exit_let_go(exit.shared, &exit.waiting);
	}
}

void search_all(struct sampler *sampler)
{
	if (!reach_of(sampler))
		return;
	for (size_t i = 0; i < roster_nr_processes(sampler->roster); i++)
		search(sampler, roster_process_at(sampler->roster, i));
	prober_end_exits(sampler->options.prober);
}
