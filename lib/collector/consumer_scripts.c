// SPDX-License-Identifier: GPL-2.0-or-later
/* Interpreters of processes whose allocations are recorded: these copy their frames themselves. */
#include "collector/consumer_priv.h"
#include "collector/script_frames.h"
#include "mapping/space.h"
#include "snapshot/frame_links.h"

struct script_subject consumer_script_subject(struct process *process)
{
	return (struct script_subject){.process = &process->script.process,
				       .owner = &process->script.owner,
				       .space = process->space};
}

/* Libraries of a process that has only just begun may be missing. */
#define TRIES_MAX 64

void consumer_tell_links(struct consumer *consumer, struct process *process)
{
	struct process_script *script = &process->script;
	struct frame_links links;

	if (script->is_told || !consumer->interpreters.set_links || !script->process ||
	    !script_process_version(script->process))
		return;
	script->is_told = ++script->nr_tries == TRIES_MAX;
	switch (script_find_links(script->process, &links)) {
	case SCRIPT_LINKS_FOUND:
		script->is_told |= consumer->interpreters.set_links(consumer->interpreters.context,
								    process->serial, &links);
		break;
	case SCRIPT_LINKS_UNLOADABLE:
		script->is_told = true;
		script_frames_count_unloadable(consumer->walker.scripts);
		break;
	case SCRIPT_LINKS_UNKNOWN:
		break;
	}
}

void consumer_look_for_interpreter(struct consumer *consumer, struct process *process)
{
	const struct script_subject subject = consumer_script_subject(process);

	if (!consumer->interpreters.set_links || !space_nr_mappings(process->space))
		return;
	script_frames_look(consumer->walker.scripts, &subject);
	consumer_tell_links(consumer, process);
}
