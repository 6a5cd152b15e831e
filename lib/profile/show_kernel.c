// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/show_kernel.h"

#include <assert.h>

#include "profile/profile.h"

static struct stack_id append(struct stack_trie *trie, struct stack_id stack, struct stack_id below)
{
	struct frame_id frames[SAMPLE_KERNEL_DEPTH_MAX];
	uint32_t nr = 0;

	for (; below.v != STACK_EMPTY.v; below = stack_trie_parent(trie, below)) {
		assert(nr < SAMPLE_KERNEL_DEPTH_MAX);
		frames[nr++] = stack_trie_frame(trie, below);
	}
	while (nr-- > 0)
		stack = stack_trie_intern(trie, stack, frames[nr]);
	return stack;
}

bool profile_show_kernel(struct profile *profile)
{
	bool is_any = false;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		struct sample *sample = &profile->samples[i];

		if (sample->kernel.v == STACK_EMPTY.v || sample->stack.v == STACK_EMPTY.v)
			continue;
		sample->stack = append(profile->stacks, sample->stack, sample->kernel);
		is_any = true;
	}
	return is_any;
}
