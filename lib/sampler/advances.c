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
	struct kernel_counters before; /* just before its visit; */
	bool has_before;	       /* it is being visited */
};

struct process_advances {
	struct kernel_counters base;	/* what lies before the time that counts */
	struct kernel_counters covered; /* published of its threads */
	struct kernel_counters leader;	/* published of the thread with its id */
	bool is_continued;		/* it has executed a program: its leader's counters go on */
};

static bool read_now(const struct advance_reader *reader, const struct sampled_thread *thread,
		     struct kernel_counters *now)
{
	const struct tracee *tracee = &thread->roster->tracee;

	return kernel_counters_read(tracee->tgid, tracee->tid, reader->wanted, now);
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
	} else if (!is_born) {
		kernel_counters_read_process(process->roster->pid, reader->wanted, &advances->base);
	}
}

void advances_begin_thread(const struct advance_reader *reader, struct sampled_thread *thread,
			   bool is_new)
{
	const struct process_advances *process = thread->process->advances;
	const struct tracee *tracee = &thread->roster->tracee;

	if (!reader->wanted)
		return;
	thread->advances = xcalloc(1, sizeof(*thread->advances));
	if (process->is_continued && tracee->tid == tracee->tgid)
		thread->advances->published = process->leader;
	else if (!is_new)
		read_now(reader, thread, &thread->advances->published);
}

void advances_count_from_now(const struct advance_reader *reader, struct sampled_thread *thread)
{
	if (thread->advances)
		read_now(reader, thread, &thread->advances->published);
}

void advances_count_process_from_now(const struct advance_reader *reader,
				     struct sampled_process *process)
{
	if (!process->advances)
		return;
	process->advances->covered = (struct kernel_counters){{0}};
	kernel_counters_read_process(process->roster->pid, reader->wanted,
				     &process->advances->base);
}

void advances_before_visit(const struct advance_reader *reader, struct sampled_thread *thread)
{
	if (thread->advances)
		thread->advances->has_before = read_now(reader, thread, &thread->advances->before);
}

void advances_not_visited(struct sampled_thread *thread)
{
	if (thread->advances)
		thread->advances->has_before = false;
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

	return advances->has_before ? kernel_counters_set(&since) : 0;
}

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

	if (!advances || !read_now(reader, thread, &now))
		return;
	advance.amounts = kernel_counters_since(&now, &advances->published);
	advance.seen = seen_by_visit(advances, &now);
	kernel_counters_add(&process->covered, &advance.amounts);
	advances->published = now;
	advances->has_before = false;
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
	kernel_counters_add(&advances->covered, &rest.amounts);
	if (found && kernel_counters_set(&rest.amounts))
		publish(reader, &rest, now_ns);
}
