// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes stacks begin at functions in focus, and leaves hidden functions out of them. */
#include "calltree/reshape_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"

/* A frame without its first levels: its code is the same, its callers are not. */
struct variant {
	uint32_t frame, from;
	uint32_t id; /* a frame of the result, or VARIANT_GONE: all of its levels are hidden */
};

#define VARIANT_GONE UINT32_MAX

struct reshaper {
	const struct expansion *from;
	struct reshaped *out;
	const bool *focus, *hide;
	size_t cap_frames; /* of out->profile, and of out->expansion */
	bool *gone;	   /* by frame of the original: all of its levels are hidden */
	struct variant *variants;
	size_t nr_variants, cap_variants;
	struct index_set variant_set;
	struct stack_id *stacks; /* by stack_id of the original; in those of the result */
	bool *inside;		 /* by the same: it has a level in focus */
	struct stack_id hidden;	 /* for stacks without any remaining level */
};

static bool is_hidden(const struct reshaper *reshaper, uint32_t level)
{
	return reshaper->hide && reshaper->hide[reshaper->from->levels[level].label];
}

/* These levels without the hidden ones; may be empty. */
static struct frame_levels keep_levels(struct reshaper *reshaper, struct frame_levels levels)
{
	struct expansion *out = &reshaper->out->expansion;
	struct frame_levels kept = {.first = (uint32_t)out->nr_levels};

	for (uint32_t i = 0; i < levels.nr; i++)
		kept.nr += !is_hidden(reshaper, levels.first + i);
	if (kept.nr == levels.nr)
		return levels;
	for (uint32_t i = 0; i < levels.nr; i++) {
		if (is_hidden(reshaper, levels.first + i))
			continue;
		ARRAY_GROW(out->levels, out->nr_levels, out->cap_levels);
		out->levels[out->nr_levels++] = reshaper->from->levels[levels.first + i];
	}
	return kept;
}

/* Add a frame to the result, after those of the original. */
static uint32_t add_frame(struct reshaper *reshaper, struct frame where, struct frame_levels levels)
{
	struct reshaped *out = reshaper->out;
	size_t nr = out->profile.nr_frames, cap = reshaper->cap_frames;

	ARRAY_GROW(out->profile.frames, nr, cap);
	ARRAY_GROW(out->expansion.frames, nr, reshaper->cap_frames);
	out->profile.frames[nr] = where;
	out->expansion.frames[nr] = levels;
	return (uint32_t)out->profile.nr_frames++;
}

static void copy_frames(struct reshaper *reshaper)
{
	const struct expansion *from = reshaper->from;
	struct reshaped *out = reshaper->out;
	size_t nr = from->profile->nr_frames;

	reshaper->gone = xcalloc(nr, sizeof(*reshaper->gone));
	out->profile.frames = xmemdup(from->profile->frames, nr * sizeof(*out->profile.frames));
	out->expansion.frames = xmemdup(from->frames, nr * sizeof(*out->expansion.frames));
	out->expansion.levels =
		xmemdup(from->levels, from->nr_levels * sizeof(*out->expansion.levels));
	out->expansion.cap_levels = from->nr_levels;
	reshaper->cap_frames = nr;
	for (size_t i = 0; i < nr; i++) {
		struct frame_levels kept = keep_levels(reshaper, from->frames[i]);

		reshaper->gone[i] = kept.nr == 0;
		if (kept.nr > 0)
			out->expansion.frames[i] = kept;
	}
}

static bool variant_equal(const void *owner, uint32_t index, const void *key)
{
	const struct variant *have = &((const struct reshaper *)owner)->variants[index];
	const struct variant *want = key;

	return have->frame == want->frame && have->from == want->from;
}

/* The variant of a frame that begins with its level number `from`, or VARIANT_GONE. */
static uint32_t variant_of(struct reshaper *reshaper, uint32_t frame, uint32_t from)
{
	struct variant variant = {.frame = frame, .from = from, .id = VARIANT_GONE};
	uint64_t hash = hash_u64((uint64_t)frame << 32 | from);
	struct frame_levels levels = reshaper->from->frames[frame];
	uint32_t found =
		index_set_find(&reshaper->variant_set, hash, variant_equal, reshaper, &variant);

	if (found != INDEX_NONE)
		return reshaper->variants[found].id;
	levels = keep_levels(reshaper, (struct frame_levels){.first = levels.first + from,
							     .nr = levels.nr - from});
	if (levels.nr > 0)
		variant.id = add_frame(reshaper, reshaper->from->profile->frames[frame], levels);
	index_set_add(&reshaper->variant_set, hash, (uint32_t)reshaper->nr_variants);
	ARRAY_GROW(reshaper->variants, reshaper->nr_variants, reshaper->cap_variants);
	reshaper->variants[reshaper->nr_variants++] = variant;
	return variant.id;
}

/* The outermost level of a frame that is in focus, or its number of levels if none is. */
static uint32_t first_in_focus(const struct reshaper *reshaper, uint32_t frame)
{
	struct frame_levels levels = reshaper->from->frames[frame];
	uint32_t i = 0;

	while (i < levels.nr && !reshaper->focus[reshaper->from->levels[levels.first + i].label])
		i++;
	return i;
}

static struct stack_id push(struct reshaper *reshaper, struct stack_id parent, uint32_t frame,
			    uint32_t from)
{
	if (from > 0)
		frame = variant_of(reshaper, frame, from);
	else if (reshaper->gone[frame])
		frame = VARIANT_GONE;
	if (frame == VARIANT_GONE)
		return parent;
	return stack_trie_intern(reshaper->out->profile.stacks, parent, (struct frame_id){frame});
}

/* Parents come first. */
static void reshape_stacks(struct reshaper *reshaper)
{
	const struct stack_trie *trie = reshaper->from->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);

	reshaper->stacks = xcalloc(nr, sizeof(*reshaper->stacks));
	reshaper->inside = xcalloc(nr, sizeof(*reshaper->inside));
	reshaper->inside[STACK_EMPTY.v] = !reshaper->focus;
	for (uint32_t id = 1; id < nr; id++) {
		uint32_t parent = stack_trie_parent(trie, (struct stack_id){id}).v;
		uint32_t frame = stack_trie_frame(trie, (struct stack_id){id}).v;
		uint32_t from = reshaper->inside[parent] ? 0 : first_in_focus(reshaper, frame);

		reshaper->inside[id] = from < reshaper->from->frames[frame].nr;
		if (reshaper->inside[id])
			reshaper->stacks[id] =
				push(reshaper, reshaper->stacks[parent], frame, from);
	}
}

static void add_hidden_stack(struct reshaper *reshaper)
{
	struct expansion *out = &reshaper->out->expansion;
	struct frame_levels levels = {.first = (uint32_t)out->nr_levels, .nr = 1};
	struct frame_id frame;

	ARRAY_GROW(out->levels, out->nr_levels, out->cap_levels);
	out->levels[out->nr_levels++] = out->hidden;
	frame.v = add_frame(reshaper, (struct frame){{.module = MODULE_UNKNOWN}}, levels);
	reshaper->hidden = stack_trie_intern(reshaper->out->profile.stacks, STACK_EMPTY, frame);
}

static struct stack_id stack_of(const struct reshaper *reshaper, struct stack_id stack)
{
	if (stack.v == STACK_EMPTY.v || !reshaper->inside[stack.v])
		return STACK_EMPTY;
	if (reshaper->stacks[stack.v].v == STACK_EMPTY.v)
		return reshaper->hidden;
	return reshaper->stacks[stack.v];
}

/* Stacks that begin at a function in focus lack no callers. */
static uint8_t end_of(const struct reshaper *reshaper, struct stack_id stack, uint8_t end)
{
	if (!reshaper->focus || stack.v == STACK_EMPTY.v ||
	    stack_end_is_complete((enum stack_end)end))
		return end;
	return STACK_END_ROOT;
}

static void reshape_samples(struct reshaper *reshaper)
{
	const struct profile *from = reshaper->from->profile;
	struct profile *out = &reshaper->out->profile;

	out->samples = xmemdup(from->samples, from->nr_samples * sizeof(*out->samples));
	for (size_t i = 0; i < out->nr_samples; i++) {
		struct sample *sample = &out->samples[i];

		sample->stack = stack_of(reshaper, sample->stack);
		sample->end = end_of(reshaper, sample->stack, sample->end);
	}
}

static void reshape_allocations(struct reshaper *reshaper)
{
	const struct profile_heap *from = &reshaper->from->profile->heap;
	struct profile_heap *out = &reshaper->out->profile.heap;

	out->allocations =
		xmemdup(from->allocations, from->nr_allocations * sizeof(*out->allocations));
	for (size_t i = 0; i < out->nr_allocations; i++) {
		struct profile_allocation *row = &out->allocations[i];

		row->stack = stack_of(reshaper, row->stack);
		row->end = end_of(reshaper, row->stack, row->end);
		if (!row->freed_end) /* not known */
			continue;
		row->freed_stack = stack_of(reshaper, row->freed_stack);
		row->freed_end = (uint8_t)(end_of(reshaper, row->freed_stack,
						  (uint8_t)(row->freed_end - 1)) +
					   1);
	}
}

static void reshape_advances(struct reshaper *reshaper)
{
	const struct profile_advances *from = &reshaper->from->profile->advances;
	struct profile_advances *out = &reshaper->out->profile.advances;

	if (!from->charged)
		return;
	out->charged = xcalloc(from->nr, sizeof(*out->charged));
	for (size_t i = 0; i < from->nr; i++)
		out->charged[i] = stack_of(reshaper, from->charged[i]);
}

struct reshaped *reshaped_new(const struct expansion *from, const bool *focus, const bool *hide)
{
	struct reshaped *out = xcalloc(1, sizeof(*out));
	struct reshaper reshaper = {.from = from, .out = out, .focus = focus, .hide = hide};

	out->expansion = *from;
	out->profile = *from->profile;
	out->expansion.profile = &out->profile;
	out->profile.stacks = stack_trie_new();
	copy_frames(&reshaper);
	reshape_stacks(&reshaper);
	add_hidden_stack(&reshaper);
	reshape_samples(&reshaper);
	reshape_allocations(&reshaper);
	reshape_advances(&reshaper);
	index_set_release(&reshaper.variant_set);
	free(reshaper.variants);
	free(reshaper.gone);
	free(reshaper.stacks);
	free(reshaper.inside);
	return out;
}

void reshaped_free(struct reshaped *reshaped)
{
	if (!reshaped)
		return;
	free(reshaped->expansion.levels);
	free(reshaped->expansion.frames);
	free(reshaped->profile.frames);
	free(reshaped->profile.samples);
	free(reshaped->profile.heap.allocations);
	free(reshaped->profile.advances.charged);
	stack_trie_free(reshaped->profile.stacks);
	free(reshaped);
}
