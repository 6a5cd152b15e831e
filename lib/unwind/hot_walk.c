// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk through frames with cached rows, at a few nanoseconds per frame. Anything unusual is
 * left to row_walk.c unchanged.
 */
#include "unwind/hot_walk.h"

#include <string.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/hot_rows.h"
#include "unwind/unwind_priv.h"

struct hot_stack {
	uint64_t start;
	uint64_t nr_starts; /* at which a word can begin */
	const uint8_t *bytes;
};

static struct hot_stack stack_of(const struct snapshot *snapshot)
{
	const struct stack_region *region = &snapshot->regions[0];

	if (!snapshot->nr_regions || region->nr_bytes < sizeof(uint64_t))
		return (struct hot_stack){0};
	return (struct hot_stack){.start = region->start,
				  .nr_starts = region->nr_bytes - sizeof(uint64_t) + 1,
				  .bytes = snapshot->bytes + region->offset};
}

static bool read_word(const struct hot_stack *stack, uint64_t address, uint64_t *value)
{
	uint64_t offset = address - stack->start;

	if (offset >= stack->nr_starts)
		return false;
	memcpy(value, stack->bytes + offset, sizeof(*value));
	return true;
}

/* The current frame of a walk; its row is known. */
struct hot_frame {
	const struct hot_row *row;
	uint64_t pc, sp, fp;
	bool fp_is_known;
};

/* Find the caller, except for its row. */
static bool step(const struct hot_stack *stack, const struct hot_frame *frame,
		 struct hot_frame *caller)
{
	const struct hot_row *row = frame->row;
	bool from_fp = row->flags & HOT_CFA_FROM_FP;
	uint64_t cfa = (from_fp ? frame->fp : frame->sp) + (uint64_t)(int64_t)row->cfa_offset;

	if (!(row->flags & HOT_IS_STEP) || (from_fp && !frame->fp_is_known) || cfa <= frame->sp ||
	    !read_word(stack, cfa - sizeof(uint64_t), &caller->pc))
		return false;
	caller->sp = cfa;
	caller->fp = frame->fp;
	caller->fp_is_known = frame->fp_is_known && !(row->flags & HOT_FP_LOST);
	if (row->flags & HOT_FP_AT_CFA) {
		caller->fp_is_known = true;
		return read_word(stack, cfa + (uint64_t)(int64_t)row->fp_offset, &caller->fp);
	}
	return true;
}

static struct unwind_frame *room_for_frame(struct unwind_walk *out)
{
	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	return &out->frames[out->nr_frames++];
}

static void take(struct unwind_frame *frame, const struct hot_frame *found, enum unwind_rule rule)
{
	frame->pc = found->pc;
	frame->sp = found->sp;
	frame->lookup.module.v = found->row->module;
	frame->lookup.address = found->row->address;
	frame->is_exact = false;
	frame->rule = rule;
}

static void leave_at(const struct hot_frame *at, const struct arch_regs *arch, struct regs *regs)
{
	regs->known = 0;
	regs_set(regs, arch->sp, at->sp);
	if (at->fp_is_known)
		regs_set(regs, arch->fp, at->fp);
}

void hot_walk(const struct hot_rows *hot, const struct unwind_arch *arch, struct walk *walk,
	      struct regs *regs, struct unwind_frame *frame)
{
	const struct hot_stack stack = stack_of(walk->snapshot);
	const uint32_t stamp = space_stamp(walk->space);
	size_t nr_max = walk->max_depth ? walk->max_depth : WALK_FRAMES_MAX;
	struct hot_frame at = {
		.row = hot_rows_find(hot, hot_key(frame->pc, frame->is_exact), stamp),
		.sp = regs->value[arch->regs->sp],
	};
	struct hot_frame caller;
	size_t nr_before = walk->nr_pushed;

	if (!at.row)
		return;
	at.fp_is_known = regs_get(regs, arch->regs->fp, &at.fp);
	for (; walk->nr_pushed < nr_max && step(&stack, &at, &caller); walk->nr_pushed++) {
		caller.pc &= arch->code_mask;
		caller.row = hot_rows_find(hot, hot_key(caller.pc, false), stamp);
		if (!caller.row)
			break;
		take(room_for_frame(walk->out), &caller, at.row->rule);
		at = caller;
	}
	if (walk->nr_pushed == nr_before)
		return;
	*frame = walk->out->frames[walk->out->nr_frames - 1];
	leave_at(&at, arch->regs, regs);
}
