// SPDX-License-Identifier: GPL-2.0-or-later
/* From a snapshot to a stack of the profile. */
#include "collector/walk.h"

#include "collector/maps.h"
#include "collector/message.h"
#include "jit/jit_names.h"
#include "mapping/space.h"
#include "proc/range.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"

/* Does the map say of all places what the kernel said at the sample? */
static bool settle_places(struct space *space, const struct message_sample *sample)
{
	bool is_settled = true;

	for (size_t i = 0; i < sample->nr_places; i++)
		is_settled &= space_recall(space, &sample->places[i]);
	return is_settled;
}

/* What is not known to have been there then is not named by what is there now. */
static void cut_unsettled(const struct space *space, const struct message_sample *sample,
			  struct unwind_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		struct unwind_frame *frame = &walk->frames[i];
		const struct proc_range *place = maps_place_at(sample, frame->pc);

		if (!place || space_agrees(space, place))
			continue;
		frame->lookup =
			(struct code_address){.module = MODULE_UNKNOWN, .address = frame->pc};
		walk->nr_frames = i + 1;
		walk->end = STACK_END_NO_MAPPING;
		walk->end_pc = frame->pc;
		if (walk->elided_at >= walk->nr_frames)
			walk->nr_elided = 0;
	}
}

static void walk_settled(struct walker *walker, struct space *space,
			 const struct message_sample *sample)
{
	bool is_settled = settle_places(space, sample);

	unwinder_walk(walker->unwinder, space, sample->snapshot, NULL, &walker->walk);
	if (!is_settled)
		cut_unsettled(space, sample, &walker->walk);
}

static struct stack_id push(struct walker *walker, struct stack_id stack, struct code_address where)
{
	struct frame_id frame = profile_intern_frame(walker->profile, where);

	return stack_trie_intern(walker->profile->stacks, stack,
				 jit_names_frame(walker->jit_names, frame));
}

/* A frame that says how many are left out. */
static struct stack_id push_elided(struct walker *walker, struct stack_id stack, size_t nr)
{
	char path[] = "[elided]";
	struct module row = {.kind = MODULE_KIND_ELIDED, .path = path, .fd = -1};
	struct code_address where = {.module = module_table_intern(walker->profile->modules, &row),
				     .address = nr};

	return push(walker, stack, where);
}

/* From the root to the leaf, as the trie grows. */
static struct stack_id intern(struct walker *walker)
{
	const struct unwind_walk *walk = &walker->walk;
	struct stack_id stack = STACK_EMPTY;

	for (size_t i = walk->nr_frames; i-- > 0;) {
		if (walk->nr_elided && i + 1 == walk->elided_at)
			stack = push_elided(walker, stack, walk->nr_elided);
		stack = push(walker, stack, walk->frames[i].lookup);
	}
	return stack;
}

struct walked_stack walker_walk(struct walker *walker, struct space *space, struct map_watch *watch,
				const struct message_sample *sample)
{
	const struct unwind_walk *walk = &walker->walk;
	struct walked_stack stack;

	walk_settled(walker, space, sample);
	if (maps_renew_if_replaced(watch, space, sample, walk))
		walk_settled(walker, space, sample);
	if (maps_renew_if_doubtful(watch, space, sample, walk, walker->profile->modules))
		walk_settled(walker, space, sample);
	if (walk->left_map && maps_renew_if_left(watch, space, walk))
		walk_settled(walker, space, sample);
	stack.id = intern(walker);
	stack.end = walk->end;
	/* What was not copied was left out for a reason. */
	if (walk->end == STACK_END_BAD_MEMORY && sample->snapshot->is_withheld)
		stack.end = STACK_END_SERVED;
	walker->nr_stacks_by_end[stack.end]++;
	return stack;
}
