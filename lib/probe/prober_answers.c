// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the process that asks in the memory of another one: a forked child. */
#include "heap/heap_answer.h"
#include "probe/prober_priv.h"

struct family {
	struct prober *prober;
	const struct probed_process *owner;
};

/* Only processes with the owner's probes: the target may write any id. */
static pid_t find(void *context, pid_t own_pid)
{
	const struct family *family = context;
	const struct probed_process *process = pid_table_get(&family->prober->by_pid, own_pid);
	const struct probed_process *giver = process;

	while (giver && giver != family->owner)
		giver = giver->giver;
	return giver && !process->is_gone && !process->has_executed ? process->pid : 0;
}

/* A forked child also has the memory of those that it was forked from. */
static void tell_links(struct prober *prober, struct probed_process *process)
{
	const struct heap_members members = {.backings = &prober->backings};
	struct interpreter *interpreter = &process->interpreter;

	for (const struct probed_process *at = process; at; at = at->giver) {
		for (size_t i = 0; i < at->nr_probed; i++) {
			struct heap_ring *heap = prober_heap_of(&at->probed[i]);

			if (heap)
				heap_answer_links(heap, process->pid, &members,
						  &interpreter->links);
		}
	}
	interpreter->nr_told = process->nr_probed;
}

bool prober_set_frame_links(struct prober *prober, uint32_t serial, const struct frame_links *links)
{
	struct probed_process *process;

	pthread_mutex_lock(&prober->lock);
	process = serials_find(&prober->by_serial, serial);
	if (process) {
		process->interpreter.links = *links;
		tell_links(prober, process);
	}
	pthread_mutex_unlock(&prober->lock);
	return process;
}

void prober_answer_heaps(struct prober *prober, uint64_t now_ns)
{
	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open; i++) {
		struct probed_process *process = prober->open[i];
		struct family family = {.prober = prober, .owner = process};
		const struct heap_members members = {
			.find = find, .context = &family, .backings = &prober->backings};
		const struct interpreter *interpreter = &process->interpreter;

		if (interpreter->links.root && interpreter->nr_told != process->nr_probed &&
		    !process->is_gone)
			tell_links(prober, process);

		for (size_t k = 0; k < process->nr_probed; k++) {
			struct heap_ring *heap = prober_heap_of(&process->probed[k]);

			if (heap)
				heap_answer(heap, process->is_gone ? 0 : process->pid, &members,
					    now_ns);
		}
	}
	pthread_mutex_unlock(&prober->lock);
}
