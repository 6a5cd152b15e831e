// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks of Python before 3.11, whose frames are objects. On the made-up native stack are, from the
 * leaf on:
 *
 *	library        (native frame 0)
 *	leaf           (1)
 *	interpreter    (2)
 *	middle         (3)
 *	root           (4)
 *	main of the interpreter (5)
 */
#include "base/alloc.h"
#include "script/cpython.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"

#define STACK	   UINT64_C(0x7ffe00000000)
#define STATE	   UINT64_C(0x555500001000)
#define HEAP	   UINT64_C(0x555500008000)
#define THREAD	   UINT64_C(0x7ffd00000740)
#define CODE_TYPE  UINT64_C(0x555500009000)
#define FRAME_TYPE UINT64_C(0x555500009800)
#define EVALUATOR  UINT64_C(0x4000)

enum made_frame { LEAF, MIDDLE, ROOT, NR_FRAMES };

#define FRAME(n)   (HEAP + (uint64_t)(n)*0x400)
#define CODE(n)	   (UINT64_C(0x55550000a000) + (uint64_t)(n)*0x400)
#define NR_NATIVES 6

static const size_t natives_of[NR_FRAMES] = {1, 3, 4};
static const uint64_t versions[] = {0x030812f0, 0x030912f0, 0x030a0df0};

struct made {
	struct cpython python;
	struct snapshot snapshot;
	struct script_native natives[NR_NATIVES];
};

static uint64_t sp_of(size_t native)
{
	return STACK + 0x100 + native * 0x100;
}

static void put(struct made *made, uint64_t address, uint64_t word)
{
	for (unsigned int i = 0; i < made->snapshot.nr_regions; i++) {
		const struct stack_region *region = &made->snapshot.regions[i];

		if (address - region->start < region->nr_bytes)
			memcpy(made->snapshot.bytes + region->offset + (address - region->start),
			       &word, sizeof(word));
	}
}

static void add_region(struct made *made, uint64_t start, size_t nr_bytes)
{
	uint8_t *room = snapshot_add_region(&made->snapshot, start, nr_bytes);

	assert_non_null(room);
	memset(room, 0, nr_bytes);
}

static void put_frame(struct made *made, enum made_frame which)
{
	const struct cpython_frame_layout *frame = &made->python.layout.frame;
	uint64_t at = FRAME(which);

	put(made, at + 8, FRAME_TYPE);
	put(made, at + frame->code, CODE(which));
	put(made, at + frame->previous, which == ROOT ? 0 : FRAME(which + 1));
	put(made, at + frame->instruction, 4);
	/* Its evaluator has the frame itself, or its variables. */
	put(made, sp_of(natives_of[which]) + 0x20,
	    which == MIDDLE ? at : at + made->python.layout.frame.variables);
}

static void begin(struct made *made, uint64_t version)
{
	*made = (struct made){.python = {.layout = *cpython_layout_of(version),
					 .code_type = CODE_TYPE,
					 .frame_type = FRAME_TYPE,
					 .evaluator = {{EVALUATOR, EVALUATOR + 0x100},
						       {EVALUATOR + 0x800, EVALUATOR + 0x900}}}};
	add_region(made, STACK, 0x800);
	add_region(made, STATE, 0x200);
	add_region(made, HEAP, 0x1000);
	made->snapshot.thread_pointer = THREAD;
	put(made, STATE + made->python.layout.thread.id, THREAD);
	put(made, STATE + made->python.layout.thread.frame, FRAME(LEAF));
	for (size_t i = 0; i < NR_NATIVES; i++)
		made->natives[i] = (struct script_native){.sp = sp_of(i), .is_interpreter = i > 0};
	for (int i = 0; i < NR_FRAMES; i++) {
		/* The root is in the part that is put apart. */
		made->natives[natives_of[i]].address = EVALUATOR + 0x10 + (i == ROOT ? 0x800 : 0);
		put_frame(made, (enum made_frame)i);
	}
}

static enum script_outcome walk(struct made *made, struct script_walk *out)
{
	return cpython_walk(&made->python, &(uint64_t){STATE}, 1, &made->snapshot, made->natives,
			    NR_NATIVES, out);
}

static void end(struct made *made, struct script_walk *out)
{
	script_walk_release(out);
	snapshot_release(&made->snapshot);
}

/* The outcome after one word was changed. */
static enum script_outcome outcome_with(uint64_t address, uint64_t word)
{
	struct script_walk out = {0};
	enum script_outcome outcome;
	struct made made;

	begin(&made, versions[0]);
	put(&made, address, word);
	outcome = walk(&made, &out);
	assert_true(outcome == SCRIPT_PROVED || !out.nr_frames);
	end(&made, &out);
	return outcome;
}

TEST(script_objects, have_a_native_frame_each)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct script_walk out = {0};
		struct made made;

		begin(&made, versions[i]);
		assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
		assert_int_equal(out.nr_frames, NR_FRAMES);
		for (size_t k = 0; k < NR_FRAMES; k++) {
			assert_int_equal(out.frames[k].code, CODE(k));
			assert_int_equal(out.frames[k].native, natives_of[k]);
			/* 3.10 counts instructions, the others bytes. */
			assert_int_equal(out.frames[k].instruction,
					 CODE(k) + 176 + 4 * (versions[i] >> 16 == 0x30a ? 2 : 1));
		}
		end(&made, &out);
	}
}

TEST(script_objects, are_none_where_nothing_is_evaluated)
{
	struct script_walk out = {0};
	struct made made;

	begin(&made, versions[0]);
	put(&made, STATE + made.python.layout.thread.frame, 0);
	for (size_t i = 0; i < NR_NATIVES; i++)
		made.natives[i].address = 0;
	assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, 0);
	end(&made, &out);
}

TEST(script_objects, are_refused_where_their_native_frame_does_not_know_them)
{
	for (size_t i = 0; i < NR_FRAMES; i++)
		assert_int_equal(outcome_with(sp_of(natives_of[i]) + 0x20, FRAME(NR_FRAMES)),
				 SCRIPT_NO_NATIVE_FRAME);
}

/* A frame more, or less, than native ones: whose they are is not known. */
TEST(script_objects, are_refused_if_their_number_is_another)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(FRAME(MIDDLE) + layout->frame.previous, 0), SCRIPT_TORN);
	assert_int_equal(outcome_with(FRAME(LEAF) + layout->frame.previous, FRAME(ROOT)),
			 SCRIPT_TORN);
	assert_int_equal(outcome_with(STATE + layout->thread.frame, FRAME(ROOT)), SCRIPT_TORN);
	for (size_t i = 0; i < NR_FRAMES; i++) {
		struct script_walk out = {0};
		struct made made;

		begin(&made, versions[0]);
		made.natives[natives_of[i]].is_interpreter = false;
		assert_int_equal(walk(&made, &out), SCRIPT_NO_NATIVE_FRAME);
		end(&made, &out);
	}
}

/* The innermost evaluator has not set up its frame yet, or has left it: the others have theirs. */
TEST(script_objects, may_be_missing_in_the_innermost_evaluator)
{
	struct script_walk out = {0};
	struct made made;

	begin(&made, versions[0]);
	put(&made, STATE + made.python.layout.thread.frame, FRAME(MIDDLE));
	assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, 2);
	assert_int_equal(out.frames[0].native, 3);
	assert_int_equal(out.frames[1].native, 4);
	/* It may still have a word of the frame that called it. */
	put(&made, sp_of(1) + 0x30, FRAME(MIDDLE));
	assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
	assert_int_equal(out.frames[0].native, 3);
	end(&made, &out);
}

/* throw() of a generator that waits for another one goes on with that, in no evaluator. */
TEST(script_objects, of_generators_lead_to_who_called_them)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(FRAME(LEAF) + layout->frame.generator, HEAP), SCRIPT_PROVED);
	assert_int_equal(outcome_with(FRAME(ROOT) + layout->frame.generator, HEAP),
			 SCRIPT_NOT_GENERATOR);
}

TEST(script_objects, are_of_the_type_of_frames)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(FRAME(MIDDLE) + 8, CODE_TYPE), SCRIPT_TORN);
	assert_int_equal(outcome_with(FRAME(LEAF) + layout->frame.previous, 3), SCRIPT_TORN);
}

TEST(script_objects, end_in_circles)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_not_equal(outcome_with(FRAME(ROOT) + layout->frame.previous, FRAME(LEAF)),
			     SCRIPT_PROVED);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct wanted_memory missing = {.nr = 0};
		struct script_walk out = {0};
		struct made made;

		begin(&made, versions[i]);
		put(&made, FRAME(ROOT) + made.python.layout.frame.previous, FRAME(LEAF));
		cpython_find_missing(&made.python, STATE, &made.snapshot, &missing);
		end(&made, &out);
	}
}

TEST(script_objects, are_of_the_thread_of_the_snapshot)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(STATE + layout->thread.id, THREAD + 8), SCRIPT_NO_THREAD);
}

/* At first only the stack and the state are there. Small objects share a page. */
TEST(script_objects, are_found_page_by_page)
{
	struct wanted_memory missing = {.nr = 0};
	struct script_walk out = {0};
	struct made made;

	begin(&made, versions[0]);
	made.snapshot.nr_regions = 2;
	assert_true(cpython_find_missing(&made.python, STATE, &made.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, HEAP);
	assert_int_equal(missing.at[0].nr_bytes, 0x1000);
	assert_int_equal(walk(&made, &out), SCRIPT_NOT_COPIED);
	made.snapshot.nr_regions = 3;
	missing = (struct wanted_memory){.nr = 0};
	assert_true(cpython_find_missing(&made.python, STATE, &made.snapshot, &missing));
	assert_int_equal(missing.nr, NR_FRAMES);
	assert_int_equal(missing.at[0].start, CODE(LEAF));
	end(&made, &out);
}

/* The state, the frames, and their code. */
TEST(script_objects, are_wanted_again)
{
	struct script_walk out = {0};
	struct made made;

	begin(&made, versions[0]);
	walk(&made, &out);
	assert_int_equal(out.wanted.nr, 1 + 2 * NR_FRAMES);
	assert_int_equal(out.wanted.at[0].start, STATE);
	for (size_t i = 0; i < NR_FRAMES; i++) {
		assert_int_equal(out.wanted.at[1 + i].start, FRAME(i));
		assert_int_equal(out.wanted.at[1 + NR_FRAMES + i].start, CODE(i));
	}
	end(&made, &out);
}
