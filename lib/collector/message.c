// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages: made, and freed with what they own. */
#include "collector/message.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "snapshot/snapshot.h"

struct message *message_new(enum message_kind kind, uint64_t time_ns)
{
	struct message *message = xcalloc(1, sizeof(*message));

	message->kind = kind;
	message->time_ns = time_ns;
	return message;
}

static void free_process(struct message_process *process)
{
	free(process->maps);
	free(process->comm);
	free(process->exe);
	free(process->command);
}

static void free_sample(struct message_sample *sample)
{
	if (sample->snapshot)
		snapshot_release(sample->snapshot);
	free(sample->snapshot);
	free(sample->name);
	free(sample->places);
}

void message_free(struct message *message)
{
	if (!message)
		return;
	switch (message->kind) {
	case MESSAGE_PROCESS:
	case MESSAGE_MAPS:
	case MESSAGE_PROCESS_REST:
	case MESSAGE_PROCESS_END:
		free_process(&message->body.process);
		break;
	case MESSAGE_SAMPLE:
		free_sample(&message->body.sample);
		break;
	case MESSAGE_COUNTERS:
		free(message->body.counters.rows);
		break;
	case MESSAGE_THREAD:
	case MESSAGE_THREAD_BASE:
	case MESSAGE_THREAD_REST:
	case MESSAGE_THREAD_END:
		free(message->body.thread.name);
		break;
	}
	free(message);
}
