// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blob follows stacks of contexts, as Perl has them: for a copy, all of them first, as the
 * proof needs them, and then the functions from the innermost one on.
 */
#include "heap/heap_blob_priv.h"
#include "heap/heap_follow_blob.h"

#define STACKS_MAX     64
#define CONTEXTS_MAX   4096
#define TEXT_WORDS_MAX 32

static uint32_t half_at(uint64_t address)
{
	return relaxed_load((const uint32_t *)address);
}

static bool has_bit(uint32_t bits, uint32_t number)
{
	return number < 32 && (bits >> number & 1);
}

/* --- one frame --- */

static void copy(struct heap_follow *walk, uint64_t at, uint64_t nr_bytes)
{
	if (!heap_has_piece(walk->pieces, at) && heap_can_read(walk, at, nr_bytes))
		heap_add_piece(walk, at, nr_bytes);
}

static void sign(struct heap_follow *walk, uint64_t word)
{
	walk->signature = heap_hash(walk->signature ^ word);
}

/* False: then the signature is none. */
static bool can_sign(struct heap_follow *walk, uint64_t at, uint64_t nr_bytes)
{
	bool can = heap_can_read(walk, at, nr_bytes);

	walk->is_certain &= can;
	return can;
}

static bool has_end(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (word - ones) & ~word & (ones << 7);
}

static void sign_text(struct heap_follow *walk, uint64_t at)
{
	for (int i = 0; i < TEXT_WORDS_MAX && can_sign(walk, at, sizeof(uint64_t)); i++) {
		sign(walk, word_at(at));
		if (has_end(word_at(at)))
			return;
		at += sizeof(uint64_t);
	}
	walk->is_certain = false;
}

static void take_statement(struct heap_follow *walk, uint64_t at)
{
	const struct frame_statement_links *links = &walk->links->contexts.of_statement;
	bool is_compiling;

	if (walk->pieces) {
		copy(walk, at, links->nr_bytes);
		if (heap_has_piece(walk->pieces, at))
			copy(walk, word_at(at + links->file), links->nr_text_bytes);
		return;
	}
	sign(walk, at);
	if (!at || !can_sign(walk, at, links->nr_bytes))
		return;
	is_compiling = !(half_at(at + links->kind) & links->kind_mask);
	sign(walk, word_at(at + links->file));
	sign(walk, half_at(at + links->line) | (uint64_t)half_at(at + links->sequence) << 32);
	/* One that is being compiled has the same number all the time. */
	if (is_compiling)
		sign_text(walk, word_at(at + links->file));
}

static void copy_sub(struct heap_follow *walk, uint64_t at)
{
	const struct frame_sub_links *links = &walk->links->contexts.of_sub;
	uint64_t body, glob;

	copy(walk, at, links->nr_head_bytes);
	if (!heap_has_piece(walk->pieces, at))
		return;
	body = word_at(at);
	copy(walk, body, links->nr_bytes);
	if (!heap_has_piece(walk->pieces, body))
		return;
	take_statement(walk, word_at(body + links->start));
	glob = word_at(body + links->glob);
	if (half_at(body + links->flags) & links->is_named) {
		copy(walk, glob, links->nr_key_bytes);
		return;
	}
	copy(walk, glob, links->nr_head_bytes);
	if (heap_has_piece(walk->pieces, glob))
		copy(walk, word_at(glob), links->nr_glob_bytes);
}

/* The number of its first statement is that of no other one. */
static void sign_sub(struct heap_follow *walk, uint64_t at)
{
	const struct frame_sub_links *links = &walk->links->contexts.of_sub;
	uint64_t body;

	sign(walk, at);
	if (!at || !can_sign(walk, at, links->nr_head_bytes))
		return;
	body = word_at(at);
	if (!can_sign(walk, body, links->nr_bytes))
		return;
	sign(walk, body);
	sign(walk, word_at(body + links->package));
	sign(walk, word_at(body + links->root));
	sign(walk, word_at(body + links->glob));
	sign(walk, half_at(body + links->flags));
	take_statement(walk, word_at(body + links->start));
}

/* All by which the walk of a copy decides. */
static void sign_context(struct heap_follow *walk, uint64_t at, uint32_t type)
{
	const struct frame_context_links *links = &walk->links->contexts;

	sign(walk, half_at(at) & links->first_mask);
	sign(walk, half_at(at + links->sub_index));
	sign(walk, word_at(at + links->next) != 0);
	if (has_bit(links->jumps, type))
		sign(walk, word_at(at + links->jump) - walk->sp);
	if (has_bit(links->subs, type))
		sign_sub(walk, word_at(at + links->sub));
	take_statement(walk, word_at(at + links->statement));
}

static void take_context(struct heap_follow *walk, uint64_t first, uint64_t index)
{
	const struct frame_context_links *links = &walk->links->contexts;
	uint64_t at = first + index * links->nr_bytes;
	uint32_t type = half_at(at) & links->type_mask;

	if (!has_bit(links->subs | links->jumps | links->others, type))
		return;
	if (!walk->pieces) {
		sign(walk, index);
		sign_context(walk, at, type);
	} else if (walk->nr_frames++ < walk->links->nr_functions) {
		if (has_bit(links->subs, type))
			copy_sub(walk, word_at(at + links->sub));
		take_statement(walk, word_at(at + links->statement));
	}
}

/* --- stacks --- */

struct contexts {
	uint64_t first, previous;
	int64_t index; /* of the innermost one; -1: there are none */
};

/* False: it is not where profc has seen memory. */
static bool read_stack(struct heap_follow *walk, uint64_t at, struct contexts *out)
{
	const struct frame_context_links *links = &walk->links->contexts;

	if (!heap_can_read(walk, at, links->of_stack.nr_bytes))
		return false;
	out->first = word_at(at + links->of_stack.contexts);
	out->previous = word_at(at + links->of_stack.previous);
	out->index = (int32_t)half_at(at + links->of_stack.index);
	/* While it grows, the former ones may be gone. */
	return out->index >= -1 && out->index < CONTEXTS_MAX && out->first != walk->gone &&
	       heap_can_read(walk, out->first, (uint64_t)(out->index + 1) * links->nr_bytes);
}

/* False: those further out cannot be found. */
static bool for_each_stack(struct heap_follow *walk,
			   void (*take)(struct heap_follow *walk, uint64_t at,
					const struct contexts *contexts))
{
	uint64_t at = word_at(walk->state + walk->links->state_frame);
	struct contexts contexts;

	for (int i = 0; at && i < STACKS_MAX; i++) {
		if (!read_stack(walk, at, &contexts))
			return false;
		take(walk, at, &contexts);
		at = contexts.previous;
	}
	return !at;
}

static void copy_stack(struct heap_follow *walk, uint64_t at, const struct contexts *contexts)
{
	const struct frame_context_links *links = &walk->links->contexts;

	heap_add_piece(walk, at, links->of_stack.nr_bytes);
	if (contexts->index >= 0)
		heap_add_piece(walk, contexts->first,
			       (uint64_t)(contexts->index + 1) * links->nr_bytes);
}

static void take_stack(struct heap_follow *walk, uint64_t at, const struct contexts *contexts)
{
	const struct frame_context_links *links = &walk->links->contexts;

	if (!walk->pieces)
		sign(walk, half_at(at + links->of_stack.sub_index) |
				   (uint64_t)half_at(at + links->of_stack.type) << 32);
	for (int64_t i = contexts->index; i >= 0; i--)
		take_context(walk, contexts->first, (uint64_t)i);
}

void heap_follow_contexts(struct heap_follow *walk)
{
	const struct frame_context_links *links = &walk->links->contexts;

	if (walk->pieces)
		for_each_stack(walk, copy_stack);
	else
		sign(walk, half_at(walk->state + links->state_phase));
	take_statement(walk, word_at(walk->state + links->state_statement));
	walk->is_certain &= for_each_stack(walk, take_stack);
}
