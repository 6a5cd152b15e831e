// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/program.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

void young_read_maps(struct sampler *sampler, struct message *message)
{
	struct message_process *told = &message->body.process;
	struct buf text = {0};

	if (proc_read_process_file(told->pid, "maps", &text) && text.nr_bytes &&
	    sampler_has_room(sampler, text.nr_bytes)) {
		told->maps = xstrndup(buf_str(&text), text.nr_bytes);
		told->nr_maps_bytes = text.nr_bytes;
	}
	buf_release(&text);
}

char *young_name(uint64_t program, pid_t pid, pid_t tid)
{
	char name[PROC_COMM_MAX_BYTES];

	return proc_program_read_comm(program, pid, tid, name, sizeof(name)) ? xstrdup(name) : NULL;
}

/*
 * In its first milliseconds a program maps its libraries, and many are over then: by exec even,
 * which leaves no moment at which the map could still be read. Later it changes ever more rarely,
 * and the worker reads it now and then. But where that is late, with the tables of a large program
 * to go through on a busy machine, code that was made at run time may be gone when it comes to it.
 */
#define YOUNG_NS	       (64 * NS_PER_MS)
#define AGE_PER_PAUSE	       8
#define MAPS_PAUSE_PER_READING 8
#define LATE_NS		       (20 * NS_PER_MS)
#define LATE_PAUSE_NS	       (50 * NS_PER_MS)
#define LATE_PAUSE_PER_READING 100
/* Of tens of thousands of mappings: nobody else has our CPU meanwhile. */
#define DEAR_READING_NS (2 * NS_PER_MS)
#define DEAR_PAUSE_NS	(10 * NS_PER_SEC)

static bool worker_is_late(struct sampler *sampler, uint64_t now_ns)
{
	return now_ns > LATE_NS + collector_due_ns(sampler->collector);
}

static bool is_likely_new(struct sampler *sampler, const struct sampled_process *process,
			  uint64_t now_ns)
{
	if (process->has_new_code)
		return true;
	if (now_ns < process->maps_again_ns)
		return false;
	return now_ns - process->start_ns <= YOUNG_NS ||
	       (now_ns >= sampler->late_maps_again_ns &&
		(process->has_more_code || worker_is_late(sampler, now_ns)) &&
		sampler_has_room_for_maps(sampler));
}

static uint64_t pause_after(uint64_t age_ns, uint64_t reading_ns)
{
	if (reading_ns > DEAR_READING_NS)
		return DEAR_PAUSE_NS;
	return age_ns <= YOUNG_NS ? age_ns / AGE_PER_PAUSE + reading_ns * MAPS_PAUSE_PER_READING
				  : LATE_PAUSE_NS + reading_ns * LATE_PAUSE_PER_READING;
}

/* It runs, and may have executed another program before its map was read. */
static void drop_if_of_another(const struct sampled_process *process, struct message *message)
{
	struct message_process *told = &message->body.process;

	if (!told->maps || !process->program ||
	    proc_program_id(told->pid, told->pid) == process->program)
		return;
	free(told->maps);
	told->maps = NULL;
	told->nr_maps_bytes = 0;
}

static void tell_maps(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	uint64_t begin_ns, pause_ns;
	struct message *message;

	process->has_new_code = process->has_more_code = false;
	begin_ns = clock_monotonic_ns();
	message = message_new(MESSAGE_MAPS, now_ns);
	message->body.process.serial = process->serial;
	message->body.process.pid = process->pid;
	young_read_maps(sampler, message);
	drop_if_of_another(process, message);
	process->wants_maps = !message->body.process.maps;
	sampler_tell(sampler, message);
	pause_ns = pause_after(now_ns - process->start_ns, clock_monotonic_ns() - begin_ns);
	process->maps_again_ns = now_ns + pause_ns;
	/* However many processes there are, they take as little of our time in all. */
	if (now_ns - process->start_ns > YOUNG_NS)
		sampler->late_maps_again_ns = now_ns + pause_ns - LATE_PAUSE_NS;
}

void young_tell_maps(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	process->wants_maps = true;
	if (!is_likely_new(sampler, process, now_ns))
		return;
	/* Those that are asked to stop would be held the longer. */
	if (!process->has_new_code && look_nr_awaited(sampler))
		sampler->owes_maps_of = process;
	else
		tell_maps(sampler, process, now_ns);
}

void young_tell_owed_maps(struct sampler *sampler)
{
	struct sampled_process *process = sampler->owes_maps_of;

	if (!process || look_nr_awaited(sampler))
		return;
	sampler->owes_maps_of = NULL;
	tell_maps(sampler, process, clock_monotonic_ns());
}

/* A child that does nothing but what its parent made it for is over by then, or about to exec. */
#define INHERITED_NS (4 * NS_PER_MS)

void young_inherit_maps(struct sampled_process *child, const struct sampled_process *parent)
{
	if (child->start_ns - parent->start_ns > YOUNG_NS)
		child->maps_again_ns = child->start_ns + INHERITED_NS;
}

void young_tell_last_maps(struct sampler *sampler, const struct sampled_process *process,
			  uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_MAPS, now_ns);
	struct message_process *told = &message->body.process;

	told->serial = process->serial;
	told->pid = process->pid;
	if (process->wants_maps)
		young_read_maps(sampler, message);
	told->comm = young_name(0, process->pid, process->pid); /* held: it is in no other */
	sampler_tell(sampler, message);
}

char *young_name_at_look(struct sampled_thread *thread, uint64_t pcount)
{
	bool is_new = thread->name_is_new && pcount == thread->pcount;

	thread->name_is_new = false;
	thread->nr_told++;
	if (is_new || thread->nr_told & (thread->nr_told - 1))
		return NULL;
	return young_name(thread->process->program, thread->process->pid, thread->tracee->tid);
}
