// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the frames of functions that V8 runs, over copied bytes. */
#include "script/v8.h"

#include <string.h>

#include "base/alloc.h"
#include "snapshot/snapshot.h"

#define ADDRESS_MAX (UINT64_C(1) << 56)
/* The saved frame pointer and the return address, between a frame pointer and its caller. */
#define LINK_BYTES 16

/* The lowest bits of a word: 0 in a small integer, 1 in a pointer, 3 in a weak one. */
#define TAG_MASK    3
#define TAG_POINTER 1

uint64_t v8_object(uint64_t pointer)
{
	uint64_t address = pointer - TAG_POINTER;

	return (pointer & TAG_MASK) == TAG_POINTER && address && address < ADDRESS_MAX ? address
										       : 0;
}

uint32_t v8_function_bytes(const struct v8 *v8)
{
	return v8->shared + (uint32_t)sizeof(uint64_t);
}

uint32_t v8_shared_bytes(const struct v8 *v8)
{
	return (v8->scope > v8->script ? v8->scope : v8->script) + (uint32_t)sizeof(uint64_t);
}

/* The function of the frame with this frame pointer; 0: it has none. */
static uint64_t function_of(const struct v8 *v8, const struct snapshot *snapshot, uint64_t fp)
{
	uint64_t function, context;

	if (!snapshot_read(snapshot, fp + (uint64_t)(int64_t)v8->fp_function, &function,
			   sizeof(function)) ||
	    !snapshot_read(snapshot, fp + (uint64_t)(int64_t)v8->fp_context, &context,
			   sizeof(context)))
		return 0;
	/* There, frames that are none of a function have a number that says what they are. */
	return v8_object(context) ? v8_object(function) : 0;
}

/* Bytes of an object that were copied in the stop, or are to be right after it. */
static bool read_word(const struct snapshot *snapshot, uint64_t address, uint64_t *word)
{
	return snapshot_read_any(snapshot, address, word, sizeof(*word)) ||
	       snapshot_read_late(snapshot, address, word, sizeof(*word));
}

/* --- walks --- */

static bool is_of_engine(const struct v8 *v8, const struct script_native *native)
{
	return native->is_generated ||
	       (native->is_interpreter && native->address >= v8->builtins_start &&
		native->address < v8->builtins_end);
}

/*
 * The frame pointer of native frame i: just above the link is the stack pointer of its caller. 0:
 * it has none so far, or no longer.
 */
static uint64_t fp_of(const struct v8 *v8, const struct snapshot *snapshot,
		      const struct script_native *natives, size_t i)
{
	const struct arch_regs *numbers = arch_regs(snapshot->arch);
	uint64_t fp = natives[i + 1].sp - LINK_BYTES, own = fp;

	if (natives[i + 1].sp < LINK_BYTES)
		return 0;
	if (!i && !regs_get(&snapshot->regs, numbers->fp, &own))
		return 0;
	/* A leaf, or where a signal came, may be about to set it, or to store its function. */
	return own == fp && natives[i].sp <= fp + (uint64_t)(int64_t)v8->fp_function ? fp : 0;
}

/* Does the frame of native frame i, at `fp`, lead to that of its caller? */
static bool is_linked(const struct snapshot *snapshot, const struct script_native *natives,
		      size_t nr_natives, size_t i, uint64_t fp)
{
	uint64_t next;

	return i + 2 < nr_natives && snapshot_read(snapshot, fp, &next, sizeof(next)) &&
	       next == natives[i + 2].sp - LINK_BYTES;
}

static bool is_exit(const struct v8 *v8, const struct snapshot *snapshot, uint64_t fp)
{
	uint64_t mark;

	return snapshot_read(snapshot, fp + (uint64_t)(int64_t)v8->fp_context, &mark,
			     sizeof(mark)) &&
	       (mark == v8->exit_mark || mark == v8->builtin_exit_mark);
}

/*
 * Where the function of the frame at `fp` is: the interpreter keeps that in the frame. What the
 * baseline compiler has made has the bytecodes at the same place, and an object next to them; other
 * code has anything.
 */
static void find_bytecodes(const struct v8 *v8, const struct snapshot *snapshot, uint64_t fp,
			   const struct script_native *native, struct script_frame *frame)
{
	uint64_t bytecodes, offset;

	if (!snapshot_read(snapshot, fp + (uint64_t)(int64_t)v8->fp_bytecodes, &bytecodes,
			   sizeof(bytecodes)) ||
	    !snapshot_read(snapshot, fp + (uint64_t)(int64_t)v8->fp_offset, &offset,
			   sizeof(offset)) ||
	    (!native->is_generated && (offset & UINT32_MAX)))
		return;
	frame->bytecodes = v8_object(bytecodes);
	frame->is_compiled = native->is_generated;
	frame->instruction = native->is_generated ? native->address : offset >> 32;
}

static void push(struct script_walk *out, const struct script_frame *frame)
{
	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	out->frames[out->nr_frames++] = *frame;
}

/* False: the snapshot lacks one of its objects. */
static bool take(const struct v8 *v8, const struct snapshot *snapshot, uint64_t function,
		 struct script_walk *out)
{
	uint64_t word, shared;

	/* Recursion has the same ones again: then this adds nothing. */
	wanted_memory_add(&out->wanted, function, v8_function_bytes(v8));
	if (!read_word(snapshot, function + v8->shared, &word))
		return false;
	shared = v8_object(word);
	if (!shared)
		return true;
	wanted_memory_add(&out->wanted, shared, v8_shared_bytes(v8));
	return read_word(snapshot, shared + v8->scope, &word) &&
	       read_word(snapshot, shared + v8->script, &word);
}

enum script_outcome v8_walk(const struct v8 *v8, const struct snapshot *snapshot,
			    const struct script_native *natives, size_t nr_natives,
			    struct script_walk *out)
{
	enum script_outcome outcome = SCRIPT_PROVED;
	bool is_kept = false; /* where the interpreter is, in its frames from here on */

	out->nr_frames = out->leaf_state = 0;
	out->wanted = (struct wanted_memory){.nr = 0};
	for (size_t i = 0; i + 1 < nr_natives; i++) {
		uint64_t fp = is_of_engine(v8, &natives[i]) ? fp_of(v8, snapshot, natives, i) : 0;
		struct script_frame frame = {.native = i};

		if (!fp)
			continue;
		frame.code = function_of(v8, snapshot, fp);
		if (frame.code && (is_kept || natives[i].is_generated))
			find_bytecodes(v8, snapshot, fp, &natives[i], &frame);
		if (frame.code && take(v8, snapshot, frame.code, out))
			push(out, &frame);
		else if (frame.code)
			outcome = SCRIPT_NOT_COPIED;
		is_kept |= (frame.code || is_exit(v8, snapshot, fp)) &&
			   is_linked(snapshot, natives, nr_natives, i, fp);
	}
	return outcome;
}

/* --- what is missing --- */

/* The stack that the thread runs on; the rest of this is done while that is stopped. */
struct words {
	const uint8_t *bytes;
	uint64_t start, nr_bytes;
};

static bool word_at(const struct words *stack, uint64_t at, uint64_t *word)
{
	if (at < stack->start || at - stack->start >= stack->nr_bytes ||
	    stack->nr_bytes - (at - stack->start) < sizeof(*word))
		return false;
	memcpy(word, stack->bytes + (at - stack->start), sizeof(*word));
	return true;
}

/*
 * The function with a frame there, unless C++ has called what has that frame. C++ keeps registers
 * of its caller where functions of scripts keep what they need, and some of these lead to objects.
 */
static uint64_t called_function_of(const struct v8 *v8, const struct words *stack, uint64_t fp)
{
	uint64_t function, context, caller;

	if (!word_at(stack, fp + (uint64_t)(int64_t)v8->fp_context, &context) ||
	    !v8_object(context) ||
	    !word_at(stack, fp + (uint64_t)(int64_t)v8->fp_function, &function) ||
	    !v8_object(function) || !word_at(stack, fp + sizeof(uint64_t), &caller))
		return 0;
	if (caller < v8->code_start || caller >= v8->code_end)
		return v8_object(function);
	caller -= v8->bias;
	return caller >= v8->builtins_start && caller < v8->builtins_end ? v8_object(function) : 0;
}

/* The region of other memory that has these bytes, or will; NULL: none. */
static const struct stack_region *region_of(const struct snapshot *snapshot, uint64_t address,
					    uint32_t nr_bytes)
{
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		const struct stack_region *region = &snapshot->regions[i];

		if (region->kind != REGION_STACK && address >= region->start &&
		    address - region->start < region->nr_bytes &&
		    region->nr_bytes - (address - region->start) >= nr_bytes)
			return region;
	}
	return NULL;
}

static void miss_objects(const struct v8 *v8, const struct snapshot *snapshot, uint64_t function,
			 struct wanted_memory *missing)
{
	const struct stack_region *region = region_of(snapshot, function, v8_function_bytes(v8));
	uint64_t word, shared;

	if (!region)
		wanted_memory_add(missing, function, v8_function_bytes(v8));
	if (!region || region->kind != REGION_WANTED)
		return;
	memcpy(&word, snapshot->bytes + region->offset + (function - region->start) + v8->shared,
	       sizeof(word));
	shared = v8_object(word);
	if (shared && !region_of(snapshot, shared, v8_shared_bytes(v8)))
		wanted_memory_add(missing, shared, v8_shared_bytes(v8));
}

#define FRAMES_MAX 64

/* The functions with frames in the chain of frame pointers from `fp` on; how many there are. */
static int miss_of_chain(const struct v8 *v8, const struct snapshot *snapshot,
			 const struct words *stack, uint64_t fp, struct wanted_memory *missing)
{
	uint64_t last = 0;
	int nr_found = 0;

	for (int nr = 0; nr < FRAMES_MAX; nr++) {
		uint64_t function = called_function_of(v8, stack, fp), next;

		nr_found += function != 0;
		/* It calls itself. */
		if (function && function != last)
			miss_objects(v8, snapshot, function, missing);
		last = function;
		if (!word_at(stack, fp, &next) || next <= fp || next % sizeof(uint64_t))
			return nr_found;
		fp = next;
	}
	return nr_found;
}

static bool is_link(const struct words *stack, uint64_t at)
{
	uint64_t next, caller;

	return word_at(stack, at, &next) && next > at && next % sizeof(uint64_t) == 0 &&
	       word_at(stack, next, &caller);
}

/*
 * C++ without frame pointers uses that register for something else. Then the chain is looked for in
 * this many words at the top of the stack: functions that it calls were there at the last sample,
 * mostly, and are wanted.
 */
#define WORDS_SEARCHED 256

/* The lowest link of a function's frame there; 0: there is none. */
static uint64_t search(const struct v8 *v8, const struct words *stack, uint64_t sp)
{
	for (uint64_t at = sp; at < sp + WORDS_SEARCHED * sizeof(uint64_t);
	     at += sizeof(uint64_t)) {
		if (is_link(stack, at) && called_function_of(v8, stack, at))
			return at;
	}
	return 0;
}

bool v8_find_missing(const struct v8 *v8, const struct snapshot *snapshot,
		     struct wanted_memory *missing)
{
	const struct arch_regs *numbers = arch_regs(snapshot->arch);
	const struct stack_region *region = snapshot->regions;
	struct words stack;
	uint64_t sp, fp;

	if (!snapshot->nr_regions || region->kind != REGION_STACK ||
	    !regs_get(&snapshot->regs, numbers->sp, &sp) ||
	    !regs_get(&snapshot->regs, numbers->fp, &fp))
		return false;
	stack = (struct words){snapshot->bytes + region->offset, region->start, region->nr_bytes};
	if (fp < sp || !is_link(&stack, fp) || !miss_of_chain(v8, snapshot, &stack, fp, missing)) {
		fp = search(v8, &stack, sp);
		if (fp)
			miss_of_chain(v8, snapshot, &stack, fp, missing);
	}
	return missing->nr > 0;
}
