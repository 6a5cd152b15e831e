// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/all_blocks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/unwind.h"

void signed_stacks_release(struct signed_stacks *stacks)
{
	free(stacks->rows);
	index_set_release(&stacks->index);
	*stacks = (struct signed_stacks){0};
}

static bool is_same(const void *owner, uint32_t index, const void *key)
{
	const struct signed_stacks *stacks = owner;
	const struct signed_stack *wanted = key;

	return stacks->rows[index].signature == wanted->signature &&
	       stacks->rows[index].signer == wanted->signer;
}

const struct signed_stack *signed_stacks_find(const struct signed_stacks *stacks, uint32_t signer,
					      uint64_t signature)
{
	const struct signed_stack wanted = {.signature = signature, .signer = signer};
	uint32_t at = index_set_find(&stacks->index, hash_mix(signer, signature), is_same, stacks,
				     &wanted);

	return at == INDEX_NONE ? NULL : &stacks->rows[at];
}

void signed_stacks_add(struct signed_stacks *stacks, const struct signed_stack *row)
{
	if (signed_stacks_find(stacks, row->signer, row->signature))
		return;
	ARRAY_GROW(stacks->rows, stacks->nr, stacks->cap);
	stacks->rows[stacks->nr] = *row;
	index_set_add(&stacks->index, hash_mix(row->signer, row->signature),
		      (uint32_t)stacks->nr++);
}

void signed_stacks_tell(const struct step_sink *sink, uint32_t signer,
			const struct unwinder *unwinder, const struct space *space,
			const struct unwind_walk *walk)
{
	if (!sink->add_step || walk->end != STACK_END_ROOT)
		return;
	for (size_t i = 0; i < walk->nr_frames; i++) {
		const struct unwind_frame *frame = &walk->frames[i];
		struct unwind_step step = {.return_address = frame->pc + frame->is_exact};
		bool is_root = i + 1 == walk->nr_frames;

		if (is_root || unwinder_step(unwinder, space, frame, &step))
			sink->add_step(sink->context, signer, &step, is_root);
	}
}
