// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a Python program that means no good: a byte for the version, the address of the thread
 * state, where its lists of threads begin as well, those of the types of code objects, of three
 * kinds of generators and of frames, and the two ranges of the evaluator's code; a byte for the
 * number of native frames and, of each, the stack pointer, its address and a byte: is it of the
 * interpreter; and a saved snapshot, of which the first region is the native stack. The line table
 * of a code object is any bytes: those of the whole input.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/cpython.h"
#include "script/cpython_line.h"
#include "script/cpython_names.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/fuzz/script_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NATIVES_MAX 96

static const uint64_t versions[] = {0x030b02f0, 0x030c01f0, 0x030d00f0,
				    0x030812f0, 0x030912f0, 0x030a0df0};

struct input {
	struct cpython python;
	uint64_t thread_state;
	uint64_t states[2]; /* that, and one that overlaps it */
	struct script_native natives[NATIVES_MAX];
	size_t nr_natives;
	struct snapshot snapshot;
};

static bool read_input(struct input *input, struct cursor *in)
{
	struct err err = ERR_INIT;
	uint8_t version = cursor_byte(in);

	input->python.layout = *cpython_layout_of(versions[version % ARRAY_SIZE(versions)]);
	input->thread_state = input->python.runtime = cursor_u64(in);
	input->python.code_type = cursor_u64(in);
	for (int i = 0; i < 3; i++)
		input->python.generator_types[i] = cursor_u64(in);
	input->python.frame_type = cursor_u64(in);
	for (int i = 0; i < 2; i++) {
		input->python.evaluator[i].start = cursor_u64(in);
		input->python.evaluator[i].end = cursor_u64(in);
	}
	input->states[0] = input->thread_state;
	input->states[1] = input->thread_state + input->python.layout.thread.next;
	input->nr_natives = cursor_byte(in) % (NATIVES_MAX + 1);
	for (size_t i = 0; i < input->nr_natives; i++) {
		input->natives[i].sp = cursor_u64(in);
		input->natives[i].address = cursor_u64(in);
		input->natives[i].is_interpreter = cursor_byte(in);
	}
	if (snapshot_load(&input->snapshot, in, &err) != 0)
		return false;
	for (unsigned int i = 1; i < input->snapshot.nr_regions; i++)
		input->snapshot.regions[i].kind = REGION_WANTED;
	return true;
}

/* --- what the memory says --- */

/*
 * A frame as a reader finds it that follows links and proves nothing. A walk may refuse what that
 * finds, but must not give other frames, and none in another native frame.
 */
struct seen {
	uint64_t code, instruction;
	uint64_t anchor; /* a word of its evaluation's native frame; 0: not known */
};

#define SEEN_MAX	256
#define OWNED_BY_NATIVE 3

/* Where two copies have the same place, the size of a read decides which one is found. */
static bool has_one_copy(const struct snapshot *snapshot)
{
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		const struct stack_region *one = &snapshot->regions[i];

		for (unsigned int k = 0; k < i; k++) {
			const struct stack_region *other = &snapshot->regions[k];

			if (one->start - other->start < other->nr_bytes ||
			    other->start - one->start < one->nr_bytes)
				return false;
		}
	}
	return true;
}

static uint64_t word_of(const struct input *input, uint64_t at)
{
	uint64_t word = 0;

	(void)snapshot_read_any(&input->snapshot, at, &word, sizeof(word));
	return word;
}

static uint8_t byte_of(const struct input *input, uint64_t at)
{
	uint8_t byte = 0;

	(void)snapshot_read_any(&input->snapshot, at, &byte, sizeof(byte));
	return byte;
}

static int32_t number_of(const struct input *input, uint64_t at)
{
	int32_t number = 0;

	(void)snapshot_read_any(&input->snapshot, at, &number, sizeof(number));
	return number;
}

static struct seen see_frame(const struct input *input, uint64_t at)
{
	const struct cpython_frame_layout *frame = &input->python.layout.frame;
	struct seen seen = {.code = word_of(input, at + frame->code)};

	if (!input->python.layout.has_frame_objects)
		seen.instruction = word_of(input, at + frame->instruction);
	else
		seen.instruction = seen.code + input->python.layout.code.instructions +
				   (uint64_t)((int64_t)number_of(input, at + frame->instruction) *
					      frame->nr_number_bytes);
	return seen;
}

/* 3.11: the frame at which the evaluation below the one with this _PyCFrame is. */
static uint64_t evaluated_below(const struct input *input, uint64_t cframe)
{
	const struct cpython_frame_layout *frame = &input->python.layout.frame;

	return word_of(input,
		       word_of(input, cframe + frame->cframe_previous) + frame->cframe_frame);
}

/* How many there are; more than SEEN_MAX: too many to know. */
static size_t see_all(const struct input *input, struct seen *seen)
{
	const struct cpython_layout *layout = &input->python.layout;
	uint64_t cframe = layout->has_cframes
				  ? word_of(input, input->thread_state + layout->thread.cframe)
				  : 0;
	uint64_t at = layout->has_cframes
			      ? word_of(input, cframe + layout->frame.cframe_frame)
			      : word_of(input, input->thread_state + layout->thread.frame);
	size_t nr = 0, nr_anchored = 0;

	for (size_t i = 0; at && i <= 2 * SEEN_MAX; i++) {
		bool is_mark = layout->has_entry_frames &&
			       byte_of(input, at + layout->frame.owner) == OWNED_BY_NATIVE;

		if (nr == SEEN_MAX)
			return SEEN_MAX + 1;
		if (!is_mark) {
			seen[nr] = see_frame(input, at);
			seen[nr++].anchor = layout->has_entry_frames ? 0 : cframe;
		}
		for (; is_mark && nr_anchored < nr; nr_anchored++)
			seen[nr_anchored].anchor = at;
		at = word_of(input, at + layout->frame.previous);
		if (layout->frame.is_entry && at == evaluated_below(input, cframe))
			cframe = word_of(input, cframe + layout->frame.cframe_previous);
	}
	return at ? SEEN_MAX + 1 : nr;
}

static void check(const struct input *input, const struct script_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++)
		assert(input->natives[walk->frames[i].native].is_interpreter);
}

static void check_claims(const struct input *input, const struct script_walk *walk)
{
	struct seen seen[SEEN_MAX];
	size_t nr = see_all(input, seen);

	assert(nr == walk->nr_frames || nr > SEEN_MAX);
	for (size_t i = 0; i < nr && i < walk->nr_frames; i++) {
		const struct script_frame *frame = &walk->frames[i];

		assert(frame->code == seen[i].code && frame->instruction == seen[i].instruction);
		assert(input->python.layout.has_frame_objects ||
		       (input->natives[frame->native].sp <= seen[i].anchor &&
			seen[i].anchor < input->natives[frame->native + 1].sp));
	}
}

/* PyASCIIObject: bits that say how characters are kept. */
#define TEXT_LENGTH    16
#define TEXT_STATE     32
#define TEXT_IS_ASCII  0x40
#define TEXT_WIDTH(s)  ((s) >> 2 & 7)
#define CHARACTERS_MAX 4096 /* of a name, at most */

/* Is the text at `at` this one? Those that are not ASCII are taken as they are. */
static void check_text(const struct input *input, uint64_t at, const char *text)
{
	uint64_t nr = word_of(input, at + TEXT_LENGTH);
	uint8_t state = byte_of(input, at + TEXT_STATE);

	if (!(state & TEXT_IS_ASCII) || TEXT_WIDTH(state) != 1)
		return;
	for (uint64_t i = 0; i < nr && i < CHARACTERS_MAX; i++) {
		uint8_t byte = byte_of(input, at + input->python.layout.text_ascii + i);

		if (byte >= 0x80)
			return;
		if (byte)
			assert((uint8_t)*text++ == byte);
	}
	assert(!*text);
}

static void check_place(const struct input *input, const struct script_frame *frame,
			const struct script_place *place)
{
	const struct cpython_code_layout *code = &input->python.layout.code;

	if (!place->name)
		return;
	assert(word_of(input, frame->code + 8) == input->python.code_type);
	assert((uint32_t)number_of(input, frame->code + code->first_line) == place->first_line);
	check_text(input, word_of(input, frame->code + code->name), place->name);
	check_text(input, word_of(input, frame->code + code->file), place->file);
}

/* The process does not exist: only the snapshot has memory. */
static void name(const struct input *input, const struct script_walk *walk)
{
	struct script_place *places = xcalloc(walk->nr_frames + 1, sizeof(*places));
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, INT_MAX);
	struct cpython_names *names = cpython_names_new();

	for (int i = 0; i < 2; i++)
		cpython_names_find(names, &input->python, space, &input->snapshot, walk->frames,
				   walk->nr_frames, places);
	for (size_t i = 0; i < walk->nr_frames; i++)
		check_place(input, &walk->frames[i], &places[i]);
	cpython_names_free(names);
	space_free(space);
	module_table_free(modules);
	free(places);
}

/* In the order of `states`: with those of both, and of the first alone. */
static void walk_all(const struct input *input)
{
	struct wanted_memory missing = {.nr = 0};
	struct script_walk walk = {0};

	cpython_find_missing(&input->python, input->thread_state, &input->snapshot, &missing);
	check_wanted(&missing);
	cpython_find_missing(&input->python, 0, &input->snapshot, &missing);
	check_wanted(&missing);
	for (size_t nr_states = ARRAY_SIZE(input->states); nr_states; nr_states--) {
		check_walk(cpython_walk(&input->python, input->states, nr_states, &input->snapshot,
					input->natives, input->nr_natives, &walk),
			   &walk, input->nr_natives);
		check(input, &walk);
	}
	if (walk.nr_frames && has_one_copy(&input->snapshot)) {
		check_claims(input, &walk);
		name(input, &walk);
	}
	script_walk_release(&walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct cursor in = cursor_over(bytes, nr_bytes);
	struct input *input = xcalloc(1, sizeof(*input));

	for (int lines = CPYTHON_LINES_BY_STEP; lines <= CPYTHON_LINES_BY_ENTRY; lines++) {
		for (int64_t unit = -1; unit < 4; unit++)
			(void)cpython_line((enum cpython_lines)lines, bytes, nr_bytes, UINT32_MAX,
					   unit * 40);
	}
	if (read_input(input, &in))
		walk_all(input);
	snapshot_release(&input->snapshot);
	free(input);
	return 0;
}
