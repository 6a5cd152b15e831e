// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings of processes with probes for allocations, and answers to the code that writes there. */
#include "base/minmax.h"
#include "heap/heap_answer.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "probe/prober_priv.h"

bool prober_has_all_blocks(const struct prober *prober)
{
	return prober->options.heap.is_all;
}

bool prober_has_heap(const struct prober *prober)
{
	return prober->heap.is_wanted;
}

struct reach *prober_reach(struct prober *prober)
{
	return prober->heap.reach;
}

size_t prober_rings(struct prober *prober, struct prober_ring *rings, size_t cap, bool is_all)
{
	size_t nr = 0;

	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open; i++) {
		struct probed_process *process = prober->open[i];
		bool is_over = process->is_gone && !process->nr_heirs;

		if (is_over && process->moments.are_rings_over && !is_all)
			continue;
		process->moments.are_rings_over = is_over;
		for (size_t k = 0; k < process->nr_probed; k++) {
			struct heap_ring *ring = prober_heap_of(&process->probed[k]);

			if (!ring)
				continue;
			process->moments.are_rings_over &= ring->answers.are_over;
			if (is_over && ring->answers.are_over && !is_all)
				continue;
			if (nr < cap)
				rings[nr] = (struct prober_ring){ring, process->serial,
								 process->pid, is_over};
			nr++;
		}
	}
	pthread_mutex_unlock(&prober->lock);
	return nr;
}

static void set_heap(struct prober *prober, const struct heap_options *heap)
{
	prober->options.heap = *heap;
	for (size_t i = 0; i < prober->nr_open; i++) {
		struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			if (process->probed[k].installation)
				installation_set_heap(process->probed[k].installation, heap);
		}
	}
}

/* Faster than counted_heap(), as it does not read the slots of all threads. */
static uint64_t nr_dropped_of(const struct prober *prober, const struct probed *probed)
{
	const struct heap_totals *base = &probed->heap_base, *counted = &probed->heap_counted;
	const struct heap_ring *heap = prober_heap_of(probed);
	uint64_t nr = counted->nr_dropped + counted->nr_frees;

	if (!heap)
		return 0;
	return prober->counting.memory
		       ? nr + heap_ring_nr_dropped(heap) - base->nr_dropped - base->nr_frees
		       : nr;
}

/* Counts open processes only, so it falls when one is closed. */
static uint64_t nr_heap_dropped(const struct prober *prober)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < prober->nr_open; i++) {
		const struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++)
			nr += nr_dropped_of(prober, &process->probed[k]);
	}
	return nr;
}

void prober_adapt_heap(struct prober *prober, uint32_t stack_bytes)
{
	struct heap_options heap;
	uint64_t nr_dropped;

	pthread_mutex_lock(&prober->lock);
	heap = prober->options.heap;
	nr_dropped = nr_heap_dropped(prober);
	if (nr_dropped > prober->sums.nr_heap_dropped)
		heap.mean = min_u64(2 * heap.mean, HEAP_MEAN_MAX);
	else
		heap.mean = max_u64(heap.mean / 2, prober->sums.heap_mean);
	prober->sums.nr_heap_dropped = nr_dropped;
	if (stack_bytes > heap.stack_bytes)
		heap.stack_bytes = (uint32_t)min_u64(stack_bytes, HEAP_STACK_MAX);
	if (heap.mean != prober->options.heap.mean ||
	    heap.stack_bytes != prober->options.heap.stack_bytes)
		set_heap(prober, &heap);
	pthread_mutex_unlock(&prober->lock);
}

void prober_add_heap_step(struct prober *prober, uint32_t serial, const struct heap_step *step)
{
	const struct probed_process *process;

	pthread_mutex_lock(&prober->lock);
	/* The process that the memory was made for. */
	for (process = serials_find(&prober->by_serial, serial); process && process->giver;)
		process = process->giver;
	for (size_t i = 0; process && i < process->nr_probed; i++) {
		struct heap_ring *heap = prober_heap_of(&process->probed[i]);

		if (heap)
			heap_ring_add_step(heap, step);
	}
	pthread_mutex_unlock(&prober->lock);
}

/* --- answers --- */

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

		if (process->moments.are_rings_over)
			continue;
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
