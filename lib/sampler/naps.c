// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "sampler/sampler_priv.h"

/* A binary heap, the earliest first. */

static void place(struct naps *naps, struct sampled_thread *thread, size_t index)
{
	naps->heap[index] = thread;
	thread->nap_index = index;
}

static void rise(struct naps *naps, struct sampled_thread *thread, size_t index)
{
	for (; index > 0; index = (index - 1) / 2) {
		struct sampled_thread *parent = naps->heap[(index - 1) / 2];

		if (parent->nap_due_ns <= thread->nap_due_ns)
			break;
		place(naps, parent, index);
	}
	place(naps, thread, index);
}

static void sink(struct naps *naps, struct sampled_thread *thread, size_t index)
{
	size_t child;

	for (; (child = 2 * index + 1) < naps->nr; index = child) {
		if (child + 1 < naps->nr &&
		    naps->heap[child + 1]->nap_due_ns < naps->heap[child]->nap_due_ns)
			child++;
		if (naps->heap[child]->nap_due_ns >= thread->nap_due_ns)
			break;
		place(naps, naps->heap[child], index);
	}
	place(naps, thread, index);
}

void naps_put(struct naps *naps, struct sampled_thread *thread, uint64_t due_ns)
{
	naps_remove(naps, thread);
	ARRAY_GROW(naps->heap, naps->nr, naps->cap);
	thread->naps = true;
	thread->nap_due_ns = due_ns;
	rise(naps, thread, naps->nr++);
}

void naps_remove(struct naps *naps, struct sampled_thread *thread)
{
	struct sampled_thread *last;
	size_t index = thread->nap_index;

	if (!thread->naps)
		return;
	assert(index < naps->nr && naps->heap[index] == thread);
	thread->naps = false;
	last = naps->heap[--naps->nr];
	if (last == thread)
		return;
	sink(naps, last, index);
	rise(naps, last, last->nap_index);
}

struct sampled_thread *naps_take_due(struct naps *naps, uint64_t now_ns)
{
	struct sampled_thread *first = naps->nr ? naps->heap[0] : NULL;

	if (!first || first->nap_due_ns > now_ns)
		return NULL;
	naps_remove(naps, first);
	return first;
}

void naps_release(struct naps *naps)
{
	free(naps->heap);
	*naps = (struct naps){0};
}
