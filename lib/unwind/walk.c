// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of one walk: reading the stack, adding frames, and the depth limit. */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind_priv.h"

void unwind_walk_release(struct unwind_walk *walk)
{
	free(walk->frames);
	*walk = (struct unwind_walk){0};
}

bool walk_read(const struct walk *walk, uint64_t address, uint64_t *value)
{
	walk_work_add(walk, 1);
	if (snapshot_read(walk->snapshot, address, value, sizeof(*value)))
		return true;
	return walk->memory &&
	       walk->memory->read(walk->memory->context, address, value, sizeof(*value));
}

/* The frames kept at the leaf's end when there is a limit; the rest is the ring. */
static size_t head_of(const struct walk *walk)
{
	return (walk->max_depth + 1) / 2;
}

static size_t slot_for_push(struct walk *walk)
{
	size_t head = head_of(walk);
	size_t slot = walk->nr_pushed++;

	if (!walk->max_depth || slot < walk->max_depth)
		return slot;
	if (head == walk->max_depth) /* a limit of 1: no room for the other end */
		return SIZE_MAX;
	return head + (slot - head) % (walk->max_depth - head);
}

struct unwind_frame walk_frame(const struct walk *walk, uint64_t pc, uint64_t sp, bool is_exact,
			       enum unwind_rule rule)
{
	return (struct unwind_frame){.pc = pc,
				     .sp = sp,
				     .lookup = space_locate(walk->space, pc - !is_exact),
				     .is_exact = is_exact,
				     .rule = rule};
}

static void keep(struct walk *walk, const struct unwind_frame *frame)
{
	struct unwind_walk *out = walk->out;
	size_t slot = slot_for_push(walk);

	if (slot == SIZE_MAX)
		return;
	if (slot >= out->nr_frames) {
		ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
		out->nr_frames = slot + 1;
	}
	out->frames[slot] = *frame;
}

bool walk_push(struct walk *walk, const struct unwind_frame *frame)
{
	bool is_leaf = !walk->nr_pushed;
	bool is_mapped = frame->lookup.module.v != MODULE_UNKNOWN.v;

	if (!is_leaf && !frame->pc && !frame->is_exact) {
		walk_end(walk, STACK_END_UNPROVED, 0);
		walk->ended_by_zero = true;
		return false;
	}
	if (walk->nr_pushed == WALK_FRAMES_MAX) {
		walk_end(walk, STACK_END_UNPROVED, frame->pc);
		return false;
	}
	if (is_mapped || frame->is_exact)
		keep(walk, frame);
	if (!is_mapped) {
		walk_end(walk, STACK_END_NO_MAPPING, frame->pc);
		walk->out->left_map = true;
	}
	return is_mapped;
}

void walk_end(struct walk *walk, enum stack_end end, uint64_t pc)
{
	walk->out->end = end;
	walk->out->end_pc = end == STACK_END_ROOT ? 0 : pc;
	walk->out->end_module =
		end == STACK_END_ROOT ? MODULE_UNKNOWN : space_locate(walk->space, pc).module;
	walk->out->wanted_address = 0;
}

void walk_end_at(struct walk *walk, uint64_t pc, uint64_t wanted_address)
{
	walk_end(walk, STACK_END_BAD_MEMORY, pc);
	walk->out->wanted_address = wanted_address;
}

static void reverse(struct unwind_frame *frames, size_t from, size_t to)
{
	while (from + 1 < to) {
		struct unwind_frame kept = frames[from];

		frames[from++] = frames[--to];
		frames[to] = kept;
	}
}

void walk_finish(struct walk *walk)
{
	struct unwind_walk *out = walk->out;
	size_t head = head_of(walk);
	size_t ring;
	size_t oldest;

	if (!walk->max_depth || walk->nr_pushed <= walk->max_depth)
		return;
	ring = walk->max_depth - head;
	oldest = ring ? (walk->nr_pushed - head) % ring : 0;
	/* Rotate the ring in place, by three reversals. */
	reverse(out->frames, head, head + oldest);
	reverse(out->frames, head + oldest, head + ring);
	reverse(out->frames, head, head + ring);
	out->elided_at = head;
	out->nr_elided = walk->nr_pushed - walk->max_depth;
	/* Only a root is replaced by the depth limit; other ends are kept. */
	if (out->end == STACK_END_ROOT)
		out->end = STACK_END_DEPTH_LIMIT;
}
