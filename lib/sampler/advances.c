// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the kernel's counters with each sample, if they were asked for. */
#include "sampler/advances_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "collector/collector.h"
#include "collector/message.h"
#include "sampler/records.h"

/* The counters of a thread as last published. */
struct thread_advances {
	struct kernel_counters published;
	unsigned int has_published;    /* the set of known ones */
	struct kernel_counters before; /* just before the visit in progress */
	unsigned int has_before;       /* the set of those; 0: there is no visit */
};

#define ALL_COUNTERS (~0U)

struct process_advances {
	struct kernel_counters base;	/* as the counted time began */
	unsigned int has_base;		/* the set of known ones */
	struct kernel_counters covered; /* the published sum of its threads */
	struct kernel_counters leader;	/* as last published for the thread with its id */
	bool is_continued; /* it has executed a program: its leader's counters continue */
};

/* Returns the set of counters that could be read; no other member of *now changes. */
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

static bool counts_events(const struct advance_reader *reader)
{
	return kernel_counters_of_events(reader->wanted);
}

void advances_await_exec(struct advance_reader *reader, pid_t command)
{
	reader->handed_on.tid = command;
	if (counts_events(reader))
		kernel_events_open(&reader->handed_on.events, reader->opener, command,
				   reader->wanted, EVENT_FROM_EXEC, NULL);
}

void advances_end(struct advance_reader *reader)
{
	kernel_events_free(reader->handed_on.events);
	reader->handed_on = (struct handed_events){.events = NULL};
}

/* Descriptors on events count on through an exec: the thread of the new program takes them over. */
static void hand_on(struct advance_reader *reader, struct sampled_thread *thread)
{
	struct tracee *tracee = &thread->roster->tracee;

	advances_end(reader);
	reader->handed_on = (struct handed_events){.events = tracee_give_events(tracee),
						   .tid = tracee->tid,
						   .published = thread->advances->published};
}

static bool take_over(struct advance_reader *reader, struct sampled_thread *thread)
{
	struct tracee *tracee = &thread->roster->tracee;
	struct kernel_counters published = reader->handed_on.published;

	if (!reader->handed_on.events || tracee->tid != reader->handed_on.tid)
		return false;
	tracee_take_events(tracee, reader->handed_on.events);
	reader->handed_on = (struct handed_events){.events = NULL};
	kernel_counters_keep(&published, kernel_counters_of_events(reader->wanted));
	kernel_counters_add(&thread->advances->published, &published);
	return true;
}

/* `late_cpu_ns`: CPU time of the thread before now. */
static void open_events(struct advance_reader *reader, struct sampled_thread *thread,
			uint64_t late_cpu_ns)
{
	struct event_coverage *coverage = &reader->coverage;
	struct tracee *tracee = &thread->roster->tracee;
	struct err err = ERR_INIT;

	if (take_over(reader, thread))
		return;
	if (tracee_count_events(tracee, reader->opener, reader->wanted, &err) == 0)
		coverage->late_cpu_ns += late_cpu_ns;
	else if (err.code == ERR_GONE)
		return;
	else if (err.code == ERR_LIMIT || err.sys_errno == EMFILE || err.sys_errno == ENFILE)
		coverage->nr_without_descriptor++;
	else
		coverage->nr_refused++;
}

void advances_count_from_now(struct advance_reader *reader, struct sampled_thread *thread)
{
	struct thread_advances *advances = thread->advances;

	if (!advances)
		return;
	if (counts_events(reader) && !thread->roster->tracee.events)
		open_events(reader, thread, 0);
	advances->has_published = read_now(reader, thread, &advances->published);
}

void advances_begin_thread(struct advance_reader *reader, struct sampled_thread *thread,
			   bool is_new, uint64_t cpu_ns)
{
	const struct process_advances *process = thread->process->advances;
	struct tracee *tracee = &thread->roster->tracee;

	if (!reader->wanted)
		return;
	thread->advances = xcalloc(1, sizeof(*thread->advances));
	thread->advances->has_published = ALL_COUNTERS;
	if (process->is_continued && tracee->tid == tracee->tgid) {
		thread->advances->published = process->leader;
		kernel_counters_keep(&thread->advances->published,
				     ~kernel_counters_of_events(reader->wanted));
	}
	if (counts_events(reader) && thread->is_chosen)
		open_events(reader, thread, is_new ? cpu_ns : 0);
	if (!is_new && !(process->is_continued && tracee->tid == tracee->tgid)) {
		thread->advances->has_published =
			read_now(reader, thread, &thread->advances->published);
	}
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

/* The next reading of a counter that cannot be read now includes its advance. */
static void publish_now(const struct advance_reader *reader, struct sampled_thread *thread,
			const struct kernel_counters *now, unsigned int found,
			struct message_advance *advance, uint64_t now_ns)
{
	const struct tracee *tracee = &thread->roster->tracee;
	struct thread_advances *advances = thread->advances;
	struct process_advances *process = thread->process->advances;

	if (!found)
		return;
	advance->process = thread->process->serial;
	advance->thread = thread->serial;
	advance->amounts = kernel_counters_since(now, &advances->published);
	kernel_counters_keep(&advance->amounts, advances->has_published);
	advance->seen = seen_by_visit(advances, now);
	kernel_counters_add(&process->covered, &advance->amounts);
	advances->has_published |= found;
	advances->published = *now;
	advances->has_before = 0;
	if (tracee->tid == tracee->tgid)
		process->leader = *now;
	publish(reader, advance, now_ns);
}

void advances_publish(const struct advance_reader *reader, struct sampled_thread *thread,
		      uint64_t now_ns, bool is_sampled)
{
	struct message_advance advance = {.is_sampled = is_sampled};
	struct kernel_counters now;
	unsigned int found;

	if (!thread->advances)
		return;
	now = thread->advances->published;
	found = read_now(reader, thread, &now);
	publish_now(reader, thread, &now, found, &advance, now_ns);
}

static void add_times(struct event_coverage *coverage, const struct kernel_events *events)
{
	struct kernel_event_times times = kernel_events_times(events);

	coverage->times.enabled_ns += times.enabled_ns;
	coverage->times.running_ns += times.running_ns;
}

void advances_end_thread(struct advance_reader *reader, struct sampled_thread *thread,
			 uint64_t now_ns, bool is_readable, bool counts)
{
	struct kernel_events *events = thread->roster->tracee.events;
	struct message_advance advance = {.is_sampled = false};
	struct kernel_counters now;
	unsigned int found = 0;

	if (!thread->advances)
		return;
	now = thread->advances->published;
	if (counts && is_readable)
		found = read_now(reader, thread, &now);
	else if (counts && events)
		found = kernel_events_read(events, &now);
	publish_now(reader, thread, &now, found, &advance, now_ns);
	/* Which of several threads has executed the program is not known. */
	if (events && thread->process->cpu.is_continued && !thread->process->cpu.had_threads)
		hand_on(reader, thread);
	else if (events)
		add_times(&reader->coverage, events);
}

/* The process has ended before a thread of it was found. */
static void add_handed_on(struct advance_reader *reader, pid_t pid, struct kernel_counters *amounts)
{
	struct handed_events *handed = &reader->handed_on;
	struct kernel_counters now = handed->published, since;

	if (!handed->events || handed->tid != pid)
		return;
	kernel_events_read(handed->events, &now);
	since = kernel_counters_since(&now, &handed->published);
	kernel_counters_add(amounts, &since);
	add_times(&reader->coverage, handed->events);
	advances_end(reader);
}

void advances_publish_rest(struct advance_reader *reader, struct sampled_process *process,
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
	add_handed_on(reader, process->roster->pid, &rest.amounts);
	kernel_counters_add(&advances->covered, &rest.amounts);
	if (kernel_counters_set(&rest.amounts))
		publish(reader, &rest, now_ns);
}
