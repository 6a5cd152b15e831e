// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the kernel's counters with each sample, if they were asked for. */
#include "sampler/advances_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "collector/collector.h"
#include "collector/message.h"
#include "sampler/records.h"

/* Up to where the counters of a thread have been published. */
struct thread_advances {
	struct kernel_counters published;
	unsigned int has_published;    /* the set of those from which it is known what follows */
	struct kernel_counters before; /* just before its visit; */
	unsigned int has_before;       /* the set of those: it is being visited */
};

#define ALL_COUNTERS (~0U)

struct process_advances {
	struct kernel_counters base;	/* what lies before the time that counts, */
	unsigned int has_base;		/* the set of those where that is known */
	struct kernel_counters covered; /* published of its threads */
	struct kernel_counters leader;	/* published of the thread with its id */
	bool is_continued;		/* it has executed a program: its leader's counters go on */
};

/* The set of those that were read; *now has no other members changed. */
static unsigned int read_now(const struct advance_reader *reader, struct sampled_thread *thread,
			     struct kernel_counters *now)
{
	return tracee_counters(&thread->roster->tracee, reader->wanted, now);
}

static void read_base(const struct advance_reader *reader, struct sampled_process *process)
{
	struct process_advances *advances = process->advances;

	advances->has_base =
		kernel_counters_read_process(process->roster->pid, reader->wanted, &advances->base);
}

void advances_begin_process(const struct advance_reader *reader, struct sampled_process *process,
			    const struct sampled_process *former, bool is_born)
{
	struct process_advances *advances;

	if (!reader->wanted)
		return;
	advances = process->advances = xcalloc(1, sizeof(*advances));
	if (former && former->advances) {
		*advances = *former->advances;
		advances->is_continued = true;
		return;
	}
	advances->has_base = ALL_COUNTERS;
	if (!is_born)
		read_base(reader, process);
}

void advances_count_from_now(const struct advance_reader *reader, struct sampled_thread *thread)
{
	struct thread_advances *advances = thread->advances;

	if (advances)
		advances->has_published = read_now(reader, thread, &advances->published);
}

void advances_begin_thread(const struct advance_reader *reader, struct sampled_thread *thread,
			   bool is_new)
{
	const struct process_advances *process = thread->process->advances;
	const struct tracee *tracee = &thread->roster->tracee;

	if (!reader->wanted)
		return;
	thread->advances = xcalloc(1, sizeof(*thread->advances));
	thread->advances->has_published = ALL_COUNTERS;
	if (process->is_continued && tracee->tid == tracee->tgid)
		thread->advances->published = process->leader;
	else if (!is_new)
		advances_count_from_now(reader, thread);
}

void advances_count_process_from_now(const struct advance_reader *reader,
				     struct sampled_process *process)
{
	if (!process->advances)
		return;
	process->advances->covered = (struct kernel_counters){{0}};
	read_base(reader, process);
}

void advances_before_visit(const struct advance_reader *reader, struct sampled_thread *thread)
{
	if (thread->advances)
		thread->advances->has_before = read_now(reader, thread, &thread->advances->before);
}

void advances_not_visited(struct sampled_thread *thread)
{
	if (thread->advances)
		thread->advances->has_before = 0;
}

static void publish(const struct advance_reader *reader, const struct message_advance *advance,
		    uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_ADVANCE, now_ns);

	message->body.advance = *advance;
	collector_publish(reader->collector, message);
}

static unsigned int seen_by_visit(const struct thread_advances *advances,
				  const struct kernel_counters *now)
{
	struct kernel_counters since = kernel_counters_since(now, &advances->before);

	return advances->has_before & kernel_counters_set(&since);
}

/* What a counter that could not be read has advanced by goes to its next reading. */
void advances_publish(const struct advance_reader *reader, struct sampled_thread *thread,
		      uint64_t now_ns, bool is_sampled)
{
	const struct tracee *tracee = &thread->roster->tracee;
	struct thread_advances *advances = thread->advances;
	struct process_advances *process = thread->process->advances;
	struct message_advance advance = {.process = thread->process->serial,
					  .thread = thread->serial,
					  .is_sampled = is_sampled};
	struct kernel_counters now;
	unsigned int found;

	if (!advances)
		return;
	now = advances->published;
	found = read_now(reader, thread, &now);
	if (!found)
		return;
	advance.amounts = kernel_counters_since(&now, &advances->published);
	kernel_counters_keep(&advance.amounts, advances->has_published);
	advances->has_published |= found;
	advance.seen = seen_by_visit(advances, &now);
	kernel_counters_add(&process->covered, &advance.amounts);
	advances->published = now;
	advances->has_before = 0;
	if (tracee->tid == tracee->tgid)
		process->leader = now;
	publish(reader, &advance, now_ns);
}

void advances_publish_rest(const struct advance_reader *reader, struct sampled_process *process,
			   uint64_t now_ns)
{
	struct process_advances *advances = process->advances;
	struct message_advance rest = {.process = process->serial, .thread = SERIAL_NONE};
	struct kernel_counters now, known;
	unsigned int found;

	if (!advances)
		return;
	found = kernel_counters_read_process(process->roster->pid, reader->wanted, &now);
	known = advances->base;
	kernel_counters_add(&known, &advances->covered);
	rest.amounts = kernel_counters_since(&now, &known);
	kernel_counters_keep(&rest.amounts, found & advances->has_base);
	kernel_counters_add(&advances->covered, &rest.amounts);
	if (kernel_counters_set(&rest.amounts))
		publish(reader, &rest, now_ns);
}
