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
		message->nr_bytes += text.nr_bytes;
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
 * which leaves no moment at which the map could still be read. Later it changes ever more rarely.
 */
#define YOUNG_NS	       (64 * NS_PER_MS)
#define AGE_PER_PAUSE	       8
#define MAPS_PAUSE_PER_READING 8

/* It runs, and may have executed another program before its map was read. */
static void drop_if_of_another(const struct sampled_process *process, struct message *message)
{
	struct message_process *told = &message->body.process;

	if (!told->maps || !process->program ||
	    proc_program_id(told->pid, told->pid) == process->program)
		return;
	free(told->maps);
	told->maps = NULL;
	message->nr_bytes -= told->nr_maps_bytes;
	told->nr_maps_bytes = 0;
}

void young_tell_maps(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - process->start_ns;
	uint64_t begin_ns;
	struct message *message;

	process->wants_maps = true;
	/* Those that are still held would be held the longer. */
	if (!process->has_new_code &&
	    (age_ns > YOUNG_NS || now_ns < process->maps_again_ns || look_nr_awaited(sampler)))
		return;
	process->has_new_code = false;
	begin_ns = clock_monotonic_ns();
	message = message_new(MESSAGE_MAPS, now_ns);
	message->body.process.serial = process->serial;
	message->body.process.pid = process->pid;
	young_read_maps(sampler, message);
	drop_if_of_another(process, message);
	process->wants_maps = !message->body.process.maps;
	sampler_tell(sampler, message);
	process->maps_again_ns = now_ns + age_ns / AGE_PER_PAUSE +
				 (clock_monotonic_ns() - begin_ns) * MAPS_PAUSE_PER_READING;
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
	told->is_last = true;
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
