// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the frames of CPython over copied bytes, and proves them. */
#include "script/cpython.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "script/cpython_text.h"
#include "script/object_bytes.h"
#include "snapshot/snapshot.h"

/* Far above the limit of recursion that programs set. */
#define FRAMES_MAX 16384
/* Pieces of a data stack have 16 KiB each, unless a single frame needs more. */
#define CHUNKS_MAX	   64
#define CHUNK_BYTES_MAX	   (UINT64_C(1) << 20)
#define CHUNK_BYTES_USUAL  (UINT64_C(16) << 10)
#define CHUNK_HEADER_BYTES 24
/* The top of the data stack moves from sample to sample: so much above it is wanted as well. */
#define CHUNK_SLACK_BYTES 2048
/*
 * Frames that are objects: as many as can be copied. Small objects of about one size share a page,
 * so what a stack misses next is often there.
 */
#define OBJECTS_MAX	  1024
#define OBJECT_BYTES	  512
#define OBJECT_PAGE_BYTES UINT64_C(4096)
#define ADDRESS_MAX	  (UINT64_C(1) << 56)

enum frame_owner {
	OWNED_BY_THREAD = 0,
	OWNED_BY_GENERATOR = 1,
	OWNED_BY_NATIVE_FRAME = 3, /* from 3.12 on: the entry frame of an evaluation */
};

enum generator_state {
	GENERATOR_EXECUTING = 0,
	GENERATOR_CLEARED = 4,
};

/* Recursion has the same code objects again and again. */
#define LOOKED_AT 32

/* The used part of a piece of the data stack. */
struct chunk {
	uint64_t start, end;
};

struct cpython_walk {
	const struct cpython *python;
	const struct cpython_layout *layout;
	uint64_t thread_state;
	const struct snapshot *snapshot;
	const struct script_native *natives;
	size_t nr_natives;
	size_t native; /* the first that may have the next evaluation */
	struct chunk chunks[CHUNKS_MAX];
	size_t nr_chunks;
	size_t nr_frames;	 /* so far */
	size_t nr_above;	 /* that are none of the evaluation that is walked */
	size_t nr_evaluated;	 /* frames whose evaluations are known */
	struct script_walk *out; /* NULL: only what is missing is looked for */
	/* Then: the last range that was wanted, and code objects that the snapshot lacks. */
	struct wanted_range last;
	struct wanted_memory *missing;
	uint64_t looked_at[LOOKED_AT]; /* code objects, by a part of their addresses */
};

/* The outcome where bytes are missing; there may be no room to copy them. */
static enum script_outcome want(struct cpython_walk *walk, uint64_t start, uint64_t nr_bytes)
{
	if (!walk->out) {
		walk->last = (struct wanted_range){
			.start = start, .nr_bytes = (uint32_t)min_u64(nr_bytes, UINT32_MAX)};
		return SCRIPT_NOT_COPIED;
	}
	return wanted_memory_add(&walk->out->wanted, start, nr_bytes) ? SCRIPT_NOT_COPIED
								      : SCRIPT_TOO_DEEP;
}

static bool is_address(uint64_t address)
{
	return address && address < ADDRESS_MAX && address % sizeof(uint64_t) == 0;
}

/* --- the data stack --- */

/* Ask for the used part of the newest chunk, and for all of older ones, which often adjoin. */
static void want_chunk(struct cpython_walk *walk, const struct chunk *used, uint64_t nr_bytes)
{
	uint64_t nr_used = used->end - used->start;
	uint64_t nr_wanted = walk->nr_chunks ? nr_bytes : nr_used + CHUNK_SLACK_BYTES;

	want(walk, used->start, min_u64(nr_wanted, nr_bytes));
}

static enum script_outcome want_unknown_chunk(struct cpython_walk *walk, uint64_t at, uint64_t top)
{
	bool is_in_use = !walk->nr_chunks && top > at && top - at < CHUNK_BYTES_MAX;

	return want(walk, at, is_in_use ? top - at + CHUNK_SLACK_BYTES : CHUNK_BYTES_USUAL);
}

/*
 * `top` is that of the thread for its newest chunk; of others their header has it, in words from
 * the end of the header on.
 */
static enum script_outcome add_chunk(struct cpython_walk *walk, uint64_t at, uint64_t top,
				     uint64_t *previous)
{
	uint8_t header[CHUNK_HEADER_BYTES];
	struct chunk used = {.start = at, .end = top};
	uint64_t nr_bytes;

	if (walk->nr_chunks == CHUNKS_MAX)
		return SCRIPT_TOO_DEEP;
	if (!is_address(at))
		return SCRIPT_TORN;
	if (!snapshot_read_any(walk->snapshot, at, header, sizeof(header)))
		return want_unknown_chunk(walk, at, top);
	*previous = word_at(header, 0);
	nr_bytes = word_at(header, 8);
	if (nr_bytes > CHUNK_BYTES_MAX || nr_bytes < CHUNK_HEADER_BYTES)
		return SCRIPT_TORN;
	if (walk->nr_chunks && word_at(header, 16) > nr_bytes / sizeof(uint64_t))
		return SCRIPT_TORN;
	if (walk->nr_chunks)
		used.end = at + CHUNK_HEADER_BYTES + word_at(header, 16) * sizeof(uint64_t);
	if (used.end < at + CHUNK_HEADER_BYTES || used.end > at + nr_bytes)
		return SCRIPT_TORN;
	want_chunk(walk, &used, nr_bytes);
	walk->chunks[walk->nr_chunks++] = used;
	return SCRIPT_PROVED;
}

static enum script_outcome find_chunks(struct cpython_walk *walk, const uint8_t *state)
{
	uint64_t at = word_at(state, walk->layout->thread.chunk);
	uint64_t top = word_at(state, walk->layout->thread.chunk_top);

	while (at) {
		uint64_t previous = 0;
		enum script_outcome outcome = add_chunk(walk, at, top, &previous);

		if (outcome != SCRIPT_PROVED)
			return outcome;
		at = previous;
	}
	return SCRIPT_PROVED;
}

/* NULL: a frame there is not on the data stack. */
static const struct chunk *chunk_at(const struct cpython_walk *walk, uint64_t at)
{
	for (size_t i = 0; i < walk->nr_chunks; i++) {
		const struct chunk *chunk = &walk->chunks[i];

		if (at >= chunk->start + CHUNK_HEADER_BYTES && at < chunk->end)
			return chunk->end - at >= walk->layout->frame.nr_bytes ? chunk : NULL;
	}
	return NULL;
}

/* --- frames --- */

enum place {
	PLACE_DATA_STACK,
	PLACE_NATIVE_FRAME,
	PLACE_GENERATOR,
};

struct frame {
	enum place place;
	uint64_t at, code, previous, instruction;
	bool is_entry;
};

static enum script_outcome read_generator(struct cpython_walk *walk, uint64_t at, uint8_t *bytes)
{
	const struct cpython_layout *layout = walk->layout;
	uint64_t start = at - layout->generator_frame;
	uint32_t nr_bytes = layout->generator_frame + layout->frame.nr_bytes;
	uint8_t object[CPYTHON_OBJECT_BYTES_MAX];
	bool is_innermost = walk->nr_frames == walk->nr_above;
	enum script_outcome outcome;
	uint64_t type;
	int8_t state;

	/* The same ones are probably evaluated at the next sample. */
	outcome = want(walk, start, nr_bytes);
	if (!snapshot_read_any(walk->snapshot, start, object, nr_bytes))
		return outcome;
	type = word_at(object, 8);
	if (type != walk->python->generator_types[0] && type != walk->python->generator_types[1] &&
	    type != walk->python->generator_types[2])
		return SCRIPT_NOT_GENERATOR;
	/*
	 * It is cleared while its locals are destroyed. Its state is set before it is left, for
	 * which an evaluation may call a function that profiles or traces.
	 */
	state = (int8_t)object[layout->generator_state];
	if (!is_innermost && state != GENERATOR_EXECUTING && state != GENERATOR_CLEARED)
		return SCRIPT_NOT_GENERATOR;
	memcpy(bytes, object + layout->generator_frame, layout->frame.nr_bytes);
	return bytes[layout->frame.owner] == OWNED_BY_GENERATOR ? SCRIPT_PROVED
								: SCRIPT_NOT_GENERATOR;
}

static enum script_outcome read_bytes(struct cpython_walk *walk, uint64_t at, uint8_t *bytes,
				      enum place *place)
{
	const struct cpython_frame_layout *layout = &walk->layout->frame;
	const struct chunk *chunk;

	if (!is_address(at))
		return SCRIPT_TORN;
	chunk = chunk_at(walk, at);
	if (chunk) {
		*place = PLACE_DATA_STACK;
		if (!snapshot_read_any(walk->snapshot, at, bytes, layout->nr_bytes))
			return want(walk, chunk->start, chunk->end - chunk->start);
		return bytes[layout->owner] == OWNED_BY_THREAD ? SCRIPT_PROVED : SCRIPT_TORN;
	}
	*place = PLACE_NATIVE_FRAME;
	if (walk->layout->has_entry_frames &&
	    snapshot_read_any(walk->snapshot, at, bytes, layout->nr_bytes) &&
	    bytes[layout->owner] == OWNED_BY_NATIVE_FRAME)
		return SCRIPT_PROVED;
	*place = PLACE_GENERATOR;
	return read_generator(walk, at, bytes);
}

static enum script_outcome read_frame(struct cpython_walk *walk, uint64_t at, struct frame *frame)
{
	const struct cpython_frame_layout *layout = &walk->layout->frame;
	uint8_t bytes[CPYTHON_OBJECT_BYTES_MAX];
	enum place place = PLACE_DATA_STACK;
	enum script_outcome outcome = read_bytes(walk, at, bytes, &place);

	if (outcome != SCRIPT_PROVED)
		return outcome;
	*frame = (struct frame){
		.place = place,
		.at = at,
		.code = word_at(bytes, layout->code),
		.previous = word_at(bytes, layout->previous),
		.instruction = word_at(bytes, layout->instruction),
		.is_entry = !walk->layout->has_entry_frames && bytes[layout->is_entry],
	};
	return SCRIPT_PROVED;
}

/*
 * Another code object may take the place of one, with its texts where the former had them: only a
 * version, or else the texts, tell them apart.
 */
static void miss_texts(struct cpython_walk *walk, const uint8_t *code)
{
	const struct cpython_code_layout *layout = &walk->layout->code;
	const uint32_t offsets[NR_CPYTHON_TEXTS] = {[CPYTHON_NAME] = layout->name,
						    [CPYTHON_FILE] = layout->file,
						    [CPYTHON_LINE_TABLE] = layout->line_table};

	if (cpython_layout_code_version(walk->layout, code))
		return;
	for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++) {
		uint64_t text = word_at(code, offsets[i]);

		if (is_address(text))
			wanted_memory_add(walk->missing, text,
					  cpython_mark_misses(walk->layout, walk->snapshot,
							      (enum cpython_text)i, text));
	}
}

static void miss_code(struct cpython_walk *walk, uint64_t code)
{
	uint32_t nr_bytes = walk->layout->code.instructions;
	uint64_t *looked_at = &walk->looked_at[code / 64 % LOOKED_AT];
	uint8_t bytes[CPYTHON_OBJECT_BYTES_MAX];

	if (!is_address(code) || *looked_at == code)
		return;
	*looked_at = code;
	if (snapshot_is_late(walk->snapshot, code, nr_bytes))
		return;
	if (snapshot_read_any(walk->snapshot, code, bytes, nr_bytes))
		miss_texts(walk, bytes);
	else
		wanted_memory_add(walk->missing, code, nr_bytes);
}

static enum script_outcome push(struct cpython_walk *walk, const struct frame *frame)
{
	struct script_walk *out = walk->out;

	if (walk->nr_frames == FRAMES_MAX)
		return SCRIPT_TOO_DEEP;
	walk->nr_frames++;
	if (!out) {
		miss_code(walk, frame->code);
		return SCRIPT_PROVED;
	}
	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	out->frames[out->nr_frames++] =
		(struct script_frame){.code = frame->code, .instruction = frame->instruction};
	return SCRIPT_PROVED;
}

/* --- evaluations --- */

/* The frames since the last evaluation are those of the native frame that has `anchor`. */
static enum script_outcome end_evaluation(struct cpython_walk *walk, uint64_t anchor)
{
	struct script_walk *out = walk->out;
	size_t i = walk->native;

	if (!out)
		return SCRIPT_PROVED;
	while (i + 1 < walk->nr_natives &&
	       !(walk->natives[i].sp <= anchor && anchor < walk->natives[i + 1].sp))
		i++;
	if (i + 1 >= walk->nr_natives || !walk->natives[i].is_interpreter)
		return SCRIPT_NO_NATIVE_FRAME;
	for (; walk->nr_evaluated < out->nr_frames; walk->nr_evaluated++)
		out->frames[walk->nr_evaluated].native = i;
	walk->native = i + 1;
	return SCRIPT_PROVED;
}

struct cframe {
	uint64_t frame, previous;
};

static enum script_outcome read_cframe(const struct cpython_walk *walk, uint64_t at,
				       struct cframe *cframe)
{
	uint8_t bytes[CPYTHON_CFRAME_BYTES];

	/* It is on the stack, and that is copied. */
	if (!is_address(at) || !snapshot_read_any(walk->snapshot, at, bytes, sizeof(bytes)))
		return SCRIPT_TORN;
	cframe->frame = word_at(bytes, walk->layout->frame.cframe_frame);
	cframe->previous = word_at(bytes, walk->layout->frame.cframe_previous);
	return SCRIPT_PROVED;
}

/* The frame at which the evaluation of `cframe` is; 0: it is the thread's own one. */
static enum script_outcome frame_below(const struct cpython_walk *walk, uint64_t cframe,
				       uint64_t *frame)
{
	struct cframe below = {0};
	enum script_outcome outcome = SCRIPT_PROVED;

	if (cframe != walk->thread_state + walk->layout->thread.root_cframe)
		outcome = read_cframe(walk, cframe, &below);
	*frame = below.frame;
	return outcome;
}

/* An evaluation that has a _PyCFrame, and the frame at which the one below it is; 0: it has none.
 */
struct evaluation {
	uint64_t cframe, below;
};

/*
 * In 3.11 a generator that passes on what throw() has thrown, to one that it delegates to, is
 * linked in without an evaluation: it leads to the frame that called throw(), though it began one
 * when it ran last.
 */
static bool is_entry(const struct frame *frame, const struct evaluation *evaluation)
{
	return frame->is_entry &&
	       (frame->place != PLACE_GENERATOR || frame->previous == evaluation->below);
}

/*
 * Take the frames of an evaluation, from *at to its outermost one. *at is then the frame at which
 * the evaluation below is; 0: there is none. Its _PyCFrame is used where there is no entry frame.
 */
static enum script_outcome take_evaluation(struct cpython_walk *walk, uint64_t *at,
					   const struct evaluation *evaluation)
{
	enum script_outcome outcome;
	struct frame frame;

	walk->nr_above = walk->nr_frames;
	for (;;) {
		outcome = read_frame(walk, *at, &frame);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		*at = frame.previous;
		/* An evaluation that has only just begun, or is over, has no other frame. */
		if (frame.place == PLACE_NATIVE_FRAME)
			return walk->nr_frames == walk->nr_above ? SCRIPT_PROVED
								 : end_evaluation(walk, frame.at);
		outcome = push(walk, &frame);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		if (is_entry(&frame, evaluation))
			return end_evaluation(walk, evaluation->cframe);
		if (!*at)
			return SCRIPT_TORN;
	}
}

/* Up to 3.12: from _PyCFrame to _PyCFrame, and both chains have to agree. */
static enum script_outcome walk_cframes(struct cpython_walk *walk, const uint8_t *state)
{
	uint64_t root = walk->thread_state + walk->layout->thread.root_cframe;
	uint64_t anchor = word_at(state, walk->layout->thread.cframe);
	/* The chain climbs the stack, so it cannot be a circle. */
	uint64_t last = 0;

	while (anchor != root) {
		enum script_outcome outcome;
		struct evaluation evaluation = {.cframe = anchor};
		struct cframe cframe;
		uint64_t at;

		if (anchor <= last)
			return SCRIPT_TORN;
		outcome = read_cframe(walk, anchor, &cframe);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		at = cframe.frame;
		if (!at)
			return SCRIPT_TORN;
		outcome = frame_below(walk, cframe.previous, &evaluation.below);
		if (outcome == SCRIPT_PROVED)
			outcome = take_evaluation(walk, &at, &evaluation);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		if (evaluation.below != at)
			return SCRIPT_TORN;
		last = anchor;
		anchor = cframe.previous;
	}
	return SCRIPT_PROVED;
}

/* From 3.13 on: the frames lead from evaluation to evaluation. */
static enum script_outcome walk_entry_frames(struct cpython_walk *walk, const uint8_t *state)
{
	uint64_t at = word_at(state, walk->layout->thread.frame);

	for (int nr = 0; at; nr++) {
		const struct evaluation evaluation = {.cframe = 0};
		enum script_outcome outcome =
			nr < FRAMES_MAX ? take_evaluation(walk, &at, &evaluation) : SCRIPT_TOO_DEEP;

		if (outcome != SCRIPT_PROVED)
			return outcome;
	}
	return SCRIPT_PROVED;
}

/* --- frames that are objects --- */

/* The next sample wants the whole of an object, if it is a small one, so that those that adjoin
 * each other are one range. */
static enum script_outcome want_object(struct cpython_walk *walk, uint64_t at)
{
	uint64_t end = at + walk->layout->frame.nr_bytes;
	uint64_t page_end = (end + OBJECT_PAGE_BYTES - 1) & -OBJECT_PAGE_BYTES;

	if (!walk->out)
		at &= -OBJECT_PAGE_BYTES;
	return want(walk, at, walk->out ? min_u64(OBJECT_BYTES, page_end - at) : page_end - at);
}

static enum script_outcome read_object(struct cpython_walk *walk, uint64_t at, struct frame *frame)
{
	const struct cpython_frame_layout *layout = &walk->layout->frame;
	uint8_t bytes[CPYTHON_OBJECT_BYTES_MAX];
	enum script_outcome outcome;
	int32_t number;

	if (!is_address(at))
		return SCRIPT_TORN;
	outcome = want_object(walk, at);
	if (!snapshot_read_any(walk->snapshot, at, bytes, layout->nr_bytes) ||
	    (walk->out && outcome == SCRIPT_TOO_DEEP))
		return outcome;
	if (word_at(bytes, 8) != walk->python->frame_type)
		return SCRIPT_TORN;
	*frame = (struct frame){.at = at,
				.code = word_at(bytes, layout->code),
				.previous = word_at(bytes, layout->previous)};
	/* One that another's throw() passes by has no evaluation, and leads nowhere. */
	if (word_at(bytes, layout->generator) && !frame->previous)
		return SCRIPT_NOT_GENERATOR;
	memcpy(&number, bytes + layout->instruction, sizeof(number));
	frame->instruction = frame->code + walk->layout->code.instructions +
			     (uint64_t)((int64_t)number * layout->nr_number_bytes);
	return SCRIPT_PROVED;
}

static bool is_evaluator(const struct cpython_walk *walk, size_t native)
{
	const struct script_native *at = &walk->natives[native];
	const struct script_code_range *ranges = walk->python->evaluator;

	for (size_t i = 0; at->is_interpreter && i < ARRAY_SIZE(walk->python->evaluator); i++) {
		if (at->address >= ranges[i].start && at->address < ranges[i].end)
			return true;
	}
	return false;
}

static size_t innermost_evaluator(const struct cpython_walk *walk)
{
	size_t i = 0;

	while (i < walk->nr_natives && !is_evaluator(walk, i))
		i++;
	return i;
}

/* Its compiler keeps at least one of them where the functions that it calls leave it. */
static bool is_of_frame(const struct cpython_walk *walk, uint64_t word, uint64_t frame)
{
	return word == frame || word == frame + walk->layout->frame.variables;
}

/* The native frame of an evaluator has at most so many. */
#define EVALUATOR_WORDS_MAX 256

static bool has_word_of(const struct cpython_walk *walk, size_t native, uint64_t frame)
{
	uint64_t start = walk->natives[native].sp, end = walk->natives[native + 1].sp;
	uint64_t words[EVALUATOR_WORDS_MAX];

	for (unsigned int i = 0; !native && i < REGS_MAX; i++) {
		uint64_t value;

		if (regs_get(&walk->snapshot->regs, i, &value) && is_of_frame(walk, value, frame))
			return true;
	}
	if (!start || end <= start || end - start > sizeof(words) ||
	    !snapshot_read(walk->snapshot, start, words, end - start))
		return false;
	for (size_t i = 0; i < (end - start) / sizeof(*words); i++) {
		if (is_of_frame(walk, words[i], frame))
			return true;
	}
	return false;
}

/* The native frame of the frame that was pushed last. */
static enum script_outcome pair(struct cpython_walk *walk, uint64_t frame)
{
	size_t i = walk->native;

	if (!walk->out)
		return SCRIPT_PROVED;
	while (i + 1 < walk->nr_natives && !(is_evaluator(walk, i) && has_word_of(walk, i, frame)))
		i++;
	if (i + 1 >= walk->nr_natives)
		return SCRIPT_NO_NATIVE_FRAME;
	walk->out->frames[walk->nr_evaluated++].native = i;
	walk->native = i + 1;
	return SCRIPT_PROVED;
}

static enum script_outcome walk_objects(struct cpython_walk *walk, const uint8_t *state)
{
	uint64_t at = word_at(state, walk->layout->thread.frame);

	for (int nr = 0; at; nr++) {
		struct frame frame;
		enum script_outcome outcome =
			nr < OBJECTS_MAX ? read_object(walk, at, &frame) : SCRIPT_TOO_DEEP;

		if (outcome == SCRIPT_PROVED)
			outcome = push(walk, &frame);
		if (outcome == SCRIPT_PROVED)
			outcome = pair(walk, at);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		at = frame.previous;
	}
	return SCRIPT_PROVED;
}

/* Has each native frame of the evaluator from `first` on a frame? */
static bool are_all_paired(const struct cpython_walk *walk, size_t first)
{
	size_t nr_paired = 0;

	for (size_t i = first; i < walk->nr_natives; i++) {
		bool is_paired = nr_paired < walk->out->nr_frames &&
				 walk->out->frames[nr_paired].native == i;

		if (is_evaluator(walk, i) && !is_paired)
			return false;
		nr_paired += is_paired;
	}
	return true;
}

/* --- all of it --- */

static enum script_outcome walk_frames(struct cpython_walk *walk)
{
	uint32_t nr_bytes = cpython_layout_thread_bytes(walk->layout);
	uint8_t state[CPYTHON_OBJECT_BYTES_MAX];
	enum script_outcome outcome = want(walk, walk->thread_state, nr_bytes);

	if (!snapshot_read_any(walk->snapshot, walk->thread_state, state, nr_bytes))
		return outcome;
	/* It was freed, and may be another thread's by now. */
	if (walk->snapshot->thread_pointer &&
	    word_at(state, walk->layout->thread.id) != walk->snapshot->thread_pointer)
		return SCRIPT_NO_THREAD;
	if (walk->layout->has_frame_objects)
		return walk_objects(walk, state);
	outcome = find_chunks(walk, state);
	if (outcome != SCRIPT_PROVED)
		return outcome;
	return walk->layout->has_cframes ? walk_cframes(walk, state)
					 : walk_entry_frames(walk, state);
}

/* Put the frames from `first` on among those before them: both are in the order of the stack. */
static enum script_outcome merge(struct script_walk *out, size_t first)
{
	struct script_frame *merged;
	size_t i = 0, k = first, nr = 0;

	if (!first || first == out->nr_frames)
		return SCRIPT_PROVED;
	merged = xcalloc(out->nr_frames, sizeof(*merged));
	while (i < first || k < out->nr_frames) {
		bool is_first = k == out->nr_frames ||
				(i < first && out->frames[i].native < out->frames[k].native);

		/* A native frame evaluates for one interpreter. */
		if (i < first && k < out->nr_frames &&
		    out->frames[i].native == out->frames[k].native)
			break;
		merged[nr++] = out->frames[is_first ? i++ : k++];
	}
	if (nr == out->nr_frames)
		memcpy(out->frames, merged, nr * sizeof(*merged));
	free(merged);
	return nr == out->nr_frames ? SCRIPT_PROVED : SCRIPT_TORN;
}

static enum script_outcome walk_state(struct cpython_walk walk, uint64_t thread_state)
{
	size_t first = walk.out->nr_frames;
	enum script_outcome outcome;

	walk.thread_state = thread_state;
	walk.nr_evaluated = first;
	outcome = walk_frames(&walk);
	return outcome == SCRIPT_PROVED ? merge(walk.out, first) : outcome;
}

/* Walk the frames of all states, which are evaluated in native frames from `first` on. */
static enum script_outcome walk_from(struct cpython_walk walk, size_t first, const uint64_t *states,
				     size_t nr_states)
{
	struct script_walk *out = walk.out;
	enum script_outcome outcome = SCRIPT_PROVED;

	walk.native = first;
	out->nr_frames = out->leaf_state = 0;
	for (size_t i = 0; i < nr_states && outcome == SCRIPT_PROVED; i++) {
		size_t leaf = out->nr_frames ? out->frames[0].native : walk.nr_natives;

		outcome = walk_state(walk, states[i]);
		/* That of another interpreter was freed since. */
		if (i && outcome == SCRIPT_NO_THREAD)
			outcome = SCRIPT_PROVED;
		else if (outcome != SCRIPT_PROVED ||
			 (out->nr_frames && out->frames[0].native < leaf))
			out->leaf_state = i;
	}
	if (outcome == SCRIPT_PROVED && walk.layout->has_frame_objects &&
	    !are_all_paired(&walk, first))
		outcome = SCRIPT_TORN;
	return outcome;
}

enum script_outcome cpython_walk(const struct cpython *python, const uint64_t *states,
				 size_t nr_states, const struct snapshot *snapshot,
				 const struct script_native *natives, size_t nr_natives,
				 struct script_walk *out)
{
	const struct cpython_walk walk = {.python = python,
					  .layout = &python->layout,
					  .snapshot = snapshot,
					  .natives = natives,
					  .nr_natives = nr_natives,
					  .out = out};
	enum script_outcome outcome;

	out->wanted = (struct wanted_memory){.nr = 0};
	outcome = walk_from(walk, 0, states, nr_states);
	/* The innermost evaluator may not have set up its frame yet, or have left it already. */
	if (python->layout.has_frame_objects &&
	    (outcome == SCRIPT_TORN || outcome == SCRIPT_NO_NATIVE_FRAME) &&
	    walk_from(walk, innermost_evaluator(&walk) + 1, states, nr_states) == SCRIPT_PROVED)
		outcome = SCRIPT_PROVED;
	if (outcome != SCRIPT_PROVED)
		out->nr_frames = 0;
	/* With their objects in the same copy, names are of that very moment. */
	for (size_t i = 0; i < out->nr_frames; i++) {
		if (is_address(out->frames[i].code))
			wanted_memory_add(&out->wanted, out->frames[i].code,
					  python->layout.code.instructions);
	}
	return outcome;
}

/* The code objects of other states' frames, which were wanted, have texts as well. */
static void miss_texts_of_copied(struct cpython_walk *walk)
{
	for (unsigned int i = 0; i < walk->snapshot->nr_regions; i++) {
		const struct stack_region *region = &walk->snapshot->regions[i];
		uint64_t type;

		if (region->kind == REGION_WANTED &&
		    region->nr_bytes == walk->layout->code.instructions &&
		    snapshot_read_any(walk->snapshot, region->start + 8, &type, sizeof(type)) &&
		    type == walk->python->code_type)
			miss_code(walk, region->start);
	}
}

bool cpython_find_missing(const struct cpython *python, uint64_t thread_state,
			  const struct snapshot *snapshot, struct wanted_memory *missing)
{
	struct cpython_walk walk = {.python = python,
				    .layout = &python->layout,
				    .thread_state = thread_state,
				    .snapshot = snapshot,
				    .missing = missing};

	if (!thread_state &&
	    cpython_find_thread(python, snapshot, &walk.thread_state, missing) != SCRIPT_PROVED)
		return missing->nr > 0;
	if (walk_frames(&walk) == SCRIPT_NOT_COPIED)
		return wanted_memory_add(missing, walk.last.start, walk.last.nr_bytes);
	miss_texts_of_copied(&walk);
	return missing->nr > 0;
}
