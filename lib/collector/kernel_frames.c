// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes frames of the functions in which the kernel has threads sleep. */
#include "collector/kernel_frames.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/lasting_hash.h"
#include "proc/kernel_stack.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"

_Static_assert(KERNEL_STACK_MAX <= SAMPLE_KERNEL_DEPTH_MAX, "room for what is read");

/* Equal in all recordings: two that are merged have the same frames. */
static uint64_t address_of(const struct kernel_function *function)
{
	return lasting_hash(LASTING_HASH_BEGIN, function->name, function->nr_bytes);
}

static struct frame_id frame_of(struct profile *profile, struct module_id module,
				const struct kernel_function *function)
{
	size_t nr_known = profile->nr_frames;
	struct frame_id frame = profile_intern_frame(
		profile, (struct code_address){.module = module, .address = address_of(function)});
	cleanup_free char *name = NULL;

	if (frame.v < nr_known)
		return frame;
	name = xstrndup(function->name, function->nr_bytes);
	profile_add_jit_name(
		profile, &(struct jit_name){.frame = frame, .name = profile_intern(profile, name)});
	return frame;
}

struct stack_id kernel_frames_intern(struct profile *profile, const struct snapshot *snapshot)
{
	struct kernel_function functions[KERNEL_STACK_MAX];
	size_t nr =
		kernel_stack_parse(snapshot->kernel_stack, snapshot->nr_kernel_bytes, functions);
	char path[] = "[kernel]";
	const struct module row = {.kind = MODULE_KIND_KERNEL, .path = path, .fd = -1};
	struct stack_id stack = STACK_EMPTY;
	struct module_id module;

	if (!nr)
		return stack;
	module = module_table_intern(profile->modules, &row);
	while (nr-- > 0)
		stack = stack_trie_intern(profile->stacks, stack,
					  frame_of(profile, module, &functions[nr]));
	return stack;
}
