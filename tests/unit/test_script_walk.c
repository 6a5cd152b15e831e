// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "tests/unit/made_python.h"
#include "tests/unit/unit.h"

#define MADE_RUNTIME	 UINT64_C(0x555500100000)
#define MADE_INTERPRETER UINT64_C(0x555500200000)
#define MADE_OTHER_STATE UINT64_C(0x555500300000)

static const uint64_t versions[] = {0x030b02f0, 0x030c01f0, 0x030d00f0};

static enum script_outcome walk(struct made_python *made, struct script_walk *out)
{
	return cpython_walk(&made->python, &(uint64_t){MADE_STATE}, 1, &made->snapshot,
			    made->natives, NR_MADE_NATIVES, out);
}

/* The outcome after one word was changed; version 3.11. */
static enum script_outcome outcome_with(uint64_t address, uint64_t word)
{
	struct script_walk out = {0};
	struct made_python made;
	enum script_outcome outcome;

	made_python_init(&made, versions[0]);
	made_python_put(&made, address, word);
	outcome = walk(&made, &out);
	assert_true(outcome == SCRIPT_PROVED || out.nr_frames == 0);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
	return outcome;
}

TEST(script_walk, pairs_frames_with_native_ones)
{
	static const size_t natives[] = {1, 1, 1, 3};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct script_walk out = {0};
		struct made_python made;

		made_python_init(&made, versions[i]);
		assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
		assert_int_equal(out.nr_frames, NR_MADE_FUNCTIONS);
		for (size_t k = 0; k < NR_MADE_FUNCTIONS; k++) {
			assert_int_equal(out.frames[k].code, MADE_CODE(k));
			assert_int_equal(out.frames[k].native, natives[k]);
			assert_int_equal(out.frames[k].instruction,
					 MADE_CODE(k) + made.python.layout.code.instructions + 8);
		}
		script_walk_release(&out);
		snapshot_release(&made.snapshot);
	}
}

/* State, data stack with some room above its top, the generator, and the code objects. */
TEST(script_walk, wants_again_what_it_has_read)
{
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	walk(&made, &out);
	assert_int_equal(out.wanted.nr, 3 + NR_MADE_FUNCTIONS);
	assert_int_equal(out.wanted.at[0].start, MADE_STATE);
	assert_int_equal(out.wanted.at[1].start, MADE_CHUNK);
	assert_in_range(out.wanted.at[1].nr_bytes, 0x181, 0x4000);
	assert_int_equal(out.wanted.at[2].start, MADE_GENERATOR);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* Without any region but the stack, three walks find out all that has to be copied. */
TEST(script_walk, wants_the_bytes_that_are_missing)
{
	struct script_walk out = {0};
	struct made_python made;
	unsigned int nr_regions;

	made_python_init(&made, versions[0]);
	nr_regions = made.snapshot.nr_regions;
	for (made.snapshot.nr_regions = 1; made.snapshot.nr_regions < nr_regions;
	     made.snapshot.nr_regions++) {
		const struct stack_region *next = &made.snapshot.regions[made.snapshot.nr_regions];

		assert_int_equal(walk(&made, &out), SCRIPT_NOT_COPIED);
		assert_int_equal(out.nr_frames, 0);
		assert_int_equal(out.wanted.at[out.wanted.nr - 1].start, next->start);
	}
	assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

TEST(script_walk, refuses_the_state_of_another_thread)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(MADE_STATE + layout->thread.id, MADE_THREAD + 0x1000),
			 SCRIPT_NO_THREAD);
}

TEST(script_walk, has_no_frames_where_nothing_is_evaluated)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);

	assert_int_equal(outcome_with(MADE_STATE + layout->thread.cframe,
				      MADE_STATE + layout->thread.root_cframe),
			 SCRIPT_PROVED);
}

TEST(script_walk, refuses_frames_outside_of_stack_and_generators)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);
	uint64_t inner = MADE_CHUNK + 24 + 0xc0;

	/* above the used part */
	assert_int_equal(outcome_with(MADE_STATE + layout->thread.chunk_top, inner),
			 SCRIPT_NOT_GENERATOR);
	assert_int_equal(outcome_with(MADE_GENERATOR + 8, MADE_CODE_TYPE), SCRIPT_NOT_GENERATOR);
	/* suspended */
	assert_int_equal(outcome_with(MADE_GENERATOR + 72, UINT64_C(0xff) << 24),
			 SCRIPT_NOT_GENERATOR);
	/* in use, but not by a thread */
	assert_int_equal(outcome_with(inner + 64, UINT64_C(1) << 40), SCRIPT_TORN);
}

TEST(script_walk, refuses_evaluations_that_lead_elsewhere)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);
	uint64_t middle = MADE_CHUNK + 24 + 0x60;

	assert_int_equal(outcome_with(middle + layout->frame.previous, 0), SCRIPT_TORN);
	assert_int_equal(
		outcome_with(MADE_ANCHOR(1) + layout->frame.cframe_previous, MADE_ANCHOR(1)),
		SCRIPT_TORN);
	assert_int_equal(
		outcome_with(MADE_ANCHOR(3) + layout->frame.cframe_previous, MADE_ANCHOR(1)),
		SCRIPT_TORN);
}

static void check_natives(struct made_python *made, const size_t *natives)
{
	struct script_walk out = {0};

	assert_int_equal(walk(made, &out), SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, NR_MADE_FUNCTIONS);
	for (size_t i = 0; i < NR_MADE_FUNCTIONS; i++) {
		assert_int_equal(out.frames[i].code, MADE_CODE(i));
		assert_int_equal(out.frames[i].native, natives[i]);
	}
	script_walk_release(&out);
}

/* In 3.11, where it began an evaluation when it ran last, and has none now. */
TEST(script_walk, takes_a_generator_that_passes_on_what_throw_has_thrown)
{
	static const size_t natives[] = {1, 1, 1, 3};
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	*made_python_at(&made, made.frames[MADE_GEN] + layout->frame.is_entry) = 1;
	check_natives(&made, natives);
	/* It has to lead to a frame that ends in the one below. */
	made_python_put(&made, made.frames[MADE_MIDDLE] + layout->frame.previous,
			made.frames[MADE_GEN]);
	assert_int_not_equal(walk(&made, &out), SCRIPT_PROVED);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* The generator has yielded, for which the evaluation calls `middle`, which calls `inner`. */
TEST(script_walk, takes_a_generator_that_is_left_while_a_function_profiles_it)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	*made_python_at(&made, MADE_GENERATOR + layout->generator_state) = 0xff;
	made_python_put(&made, made.frames[MADE_INNER] + layout->frame.previous,
			made.frames[MADE_MIDDLE]);
	made_python_put(&made, made.frames[MADE_MIDDLE] + layout->frame.previous,
			made.frames[MADE_GEN]);
	made_python_put(&made, MADE_ANCHOR(3) + layout->frame.cframe_frame, made.frames[MADE_GEN]);
	made_python_put(&made, made.frames[MADE_GEN] + layout->frame.previous,
			made.frames[MADE_OUTER]);
	assert_int_equal(walk(&made, &out), SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, NR_MADE_FUNCTIONS);
	assert_int_equal(out.frames[2].code, MADE_CODE(MADE_GEN));
	assert_int_equal(out.frames[2].native, 3);
	/* Where it is not the innermost function of its evaluation it has to run. */
	made_python_put(&made, MADE_ANCHOR(3) + layout->frame.cframe_frame,
			made.frames[MADE_MIDDLE]);
	assert_int_not_equal(walk(&made, &out), SCRIPT_PROVED);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* A frame that leads to itself, and an entry that leads to one above. */
TEST(script_walk, ends_in_circles)
{
	const struct cpython_layout *layout = cpython_layout_of(versions[0]);
	uint64_t inner = MADE_CHUNK + 24 + 0xc0;

	assert_int_equal(outcome_with(inner + layout->frame.previous, inner), SCRIPT_TOO_DEEP);
	for (size_t i = 1; i < ARRAY_SIZE(versions); i++) {
		struct script_walk out = {0};
		struct made_python made;
		uint64_t entry;

		made_python_init(&made, versions[i]);
		entry = MADE_ANCHOR(3) + (made.python.layout.has_cframes ? 0x20 : 0);
		made_python_put(&made, entry + made.python.layout.frame.previous, entry);
		assert_int_not_equal(walk(&made, &out), SCRIPT_PROVED);
		script_walk_release(&out);
		snapshot_release(&made.snapshot);
	}
}

TEST(script_walk, refuses_evaluations_outside_of_the_interpreter)
{
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	made.natives[3].is_interpreter = false;
	assert_int_equal(walk(&made, &out), SCRIPT_NO_NATIVE_FRAME);
	made.natives[3].is_interpreter = true;
	/* the native walk was cut short */
	assert_int_equal(cpython_walk(&made.python, &(uint64_t){MADE_STATE}, 1, &made.snapshot,
				      made.natives, 3, &out),
			 SCRIPT_NO_NATIVE_FRAME);
	assert_int_equal(out.nr_frames, 0);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* Two evaluations never share a native frame. */
TEST(script_walk, refuses_two_evaluations_in_one_native_frame)
{
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	made.natives[2].sp = made.natives[3].sp = MADE_ANCHOR(3) + 0x40;
	assert_int_equal(walk(&made, &out), SCRIPT_NO_NATIVE_FRAME);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* Four pieces that adjoin each other, as memory that is mapped piece by piece often does. */
TEST(script_walk, reads_a_data_stack_of_several_pieces)
{
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	made_python_put(&made, MADE_CHUNK, MADE_CHUNK - 0x4000);
	assert_int_equal(walk(&made, &out), SCRIPT_NOT_COPIED);
	assert_int_equal(out.wanted.at[1].start, MADE_CHUNK - 0x4000);
	snapshot_release(&made.snapshot);
	made_python_init(&made, versions[0]);
	made_python_put(&made, MADE_CHUNK, MADE_STATE); /* no header of a piece */
	assert_int_equal(walk(&made, &out), SCRIPT_TORN);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

#define OTHER_STATE (MADE_STATE + 0x6000)

/* The evaluation of `outer` is another interpreter's. */
static void divide(struct made_python *made)
{
	const struct cpython_layout *layout = &made->python.layout;
	const struct cpython_frame_layout *frame = &layout->frame;
	uint64_t root = OTHER_STATE + layout->thread.root_cframe;
	uint64_t entry = MADE_ANCHOR(1) + (layout->has_cframes ? 0x20 : 0);

	made_python_region(made, OTHER_STATE, 0x200);
	memcpy(made_python_at(made, OTHER_STATE), made_python_at(made, MADE_STATE), 0x200);
	made_python_put(made,
			(layout->has_entry_frames ? entry : made->frames[MADE_MIDDLE]) +
				frame->previous,
			0);
	if (!layout->has_cframes) {
		made_python_put(made, OTHER_STATE + layout->thread.frame, made->frames[MADE_OUTER]);
		return;
	}
	made_python_put(made, MADE_ANCHOR(1) + frame->cframe_previous,
			MADE_STATE + layout->thread.root_cframe);
	made_python_put(made, OTHER_STATE + layout->thread.cframe, MADE_ANCHOR(3));
	made_python_put(made, MADE_ANCHOR(3) + frame->cframe_previous, root);
}

TEST(script_walk, merges_the_frames_of_several_interpreters)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		static const uint64_t orders[][2] = {{MADE_STATE, OTHER_STATE},
						     {OTHER_STATE, MADE_STATE}};
		struct script_walk out = {0};
		struct made_python made;

		made_python_init(&made, versions[i]);
		divide(&made);
		for (size_t k = 0; k < ARRAY_SIZE(orders); k++) {
			assert_int_equal(cpython_walk(&made.python, orders[k], 2, &made.snapshot,
						      made.natives, NR_MADE_NATIVES, &out),
					 SCRIPT_PROVED);
			assert_int_equal(out.leaf_state, k);
			assert_int_equal(out.nr_frames, NR_MADE_FUNCTIONS);
			for (int n = 0; n < NR_MADE_FUNCTIONS; n++) {
				assert_int_equal(out.frames[n].code, MADE_CODE(n));
				assert_int_equal(out.frames[n].native, n == MADE_OUTER ? 3 : 1);
			}
		}
		/* One that was freed is left out; the first one has to be the thread's. */
		made_python_put(&made, OTHER_STATE + made.python.layout.thread.id, 1);
		assert_int_equal(cpython_walk(&made.python, orders[0], 2, &made.snapshot,
					      made.natives, NR_MADE_NATIVES, &out),
				 SCRIPT_PROVED);
		assert_int_equal(out.nr_frames, NR_MADE_FUNCTIONS - 1);
		assert_int_equal(cpython_walk(&made.python, orders[1], 2, &made.snapshot,
					      made.natives, NR_MADE_NATIVES, &out),
				 SCRIPT_NO_THREAD);
		script_walk_release(&out);
		snapshot_release(&made.snapshot);
	}
}

/* Two interpreters cannot both evaluate in one native frame. */
TEST(script_walk, refuses_a_native_frame_of_two_interpreters)
{
	const uint64_t states[] = {MADE_STATE, MADE_STATE};
	struct script_walk out = {0};
	struct made_python made;

	made_python_init(&made, versions[0]);
	assert_int_equal(cpython_walk(&made.python, states, 2, &made.snapshot, made.natives,
				      NR_MADE_NATIVES, &out),
			 SCRIPT_TORN);
	assert_int_equal(out.nr_frames, 0);
	script_walk_release(&out);
	snapshot_release(&made.snapshot);
}

/* At first only the stack is there; the walk gets what it asks for, step by step, until it ends. */
TEST(script_walk, finds_what_is_missing)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		static const uint64_t starts[] = {MADE_STATE, MADE_CHUNK, MADE_GENERATOR};
		struct wanted_memory missing = {.nr = 0};
		struct made_python made;

		made_python_init(&made, versions[i]);
		for (unsigned int nr = 0; nr < ARRAY_SIZE(starts); nr++) {
			missing = (struct wanted_memory){.nr = 0};
			made.snapshot.nr_regions = 1 + nr;
			assert_true(cpython_find_missing(&made.python, MADE_STATE, &made.snapshot,
							 &missing));
			assert_int_equal(missing.at[missing.nr - 1].start, starts[nr]);
		}
		/* Then only the code objects are left. */
		made.snapshot.nr_regions = 4;
		missing = (struct wanted_memory){.nr = 0};
		assert_true(
			cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
		assert_int_equal(missing.nr, NR_MADE_FUNCTIONS);
		for (int k = 0; k < NR_MADE_FUNCTIONS; k++)
			made_python_region(&made, MADE_CODE(k),
					   made.python.layout.code.instructions);
		missing = (struct wanted_memory){.nr = 0};
		assert_false(
			cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
		snapshot_release(&made.snapshot);
	}
}

/* Other texts may come to stand in the place of these; with a version no copies are needed. */
TEST(script_walk, finds_that_the_texts_of_an_object_without_a_version_are_missing)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const uint64_t code = MADE_CODE(MADE_INNER), text = MADE_STATE + 0x10000;
		struct wanted_memory missing = {.nr = 0};
		struct made_python made;
		uint32_t version;

		made_python_init(&made, versions[i]);
		version = made.python.layout.code.version;
		for (int k = 0; k < NR_MADE_FUNCTIONS; k++)
			made_python_region(&made, MADE_CODE(k),
					   made.python.layout.code.instructions);
		made_python_put(&made, code + made.python.layout.code.name, text);
		assert_true(
			cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
		assert_int_equal(missing.nr, 1);
		assert_int_equal(missing.at[0].start, text);
		if (version)
			memcpy(made_python_at(&made, code + version), &(uint32_t){7}, 4);
		else
			made_python_region(&made, text, CPYTHON_TEXT_BYTES);
		missing = (struct wanted_memory){.nr = 0};
		assert_false(
			cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
		snapshot_release(&made.snapshot);
	}
}

/* As where the range of an object that was wanted before ends in the middle of a text of now. */
TEST(script_walk, finds_that_the_end_of_a_text_is_missing)
{
	const uint64_t code = MADE_CODE(MADE_INNER), text = MADE_STATE + 0x10000;
	const uint32_t state = 1 << 2 | 1 << 5 | 1 << 6; /* compact, in ASCII */
	const uint64_t length = 7;
	struct wanted_memory missing = {.nr = 0};
	struct made_python made;

	made_python_init(&made, 0x030b02f0);
	for (int k = 0; k < NR_MADE_FUNCTIONS; k++)
		made_python_region(&made, MADE_CODE(k), made.python.layout.code.instructions);
	made_python_put(&made, code + made.python.layout.code.name, text);
	made_python_region(&made, text, 48);
	made_python_put(&made, text + 16, length);
	memcpy(made_python_at(&made, text + 32), &state, sizeof(state));
	assert_true(cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, text);
	assert_in_range(missing.at[0].nr_bytes, 48 + length, CPYTHON_TEXT_BYTES);
	made_python_region(&made, text + 48, length); /* which goes on where it ended */
	missing = (struct wanted_memory){.nr = 0};
	assert_false(cpython_find_missing(&made.python, MADE_STATE, &made.snapshot, &missing));
	snapshot_release(&made.snapshot);
}

/* _PyRuntime, an interpreter, the state of a newer thread, and then that of the thread. */
TEST(script_walk, finds_the_thread_in_the_lists)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct cpython_layout *layout = cpython_layout_of(versions[i]);
		const struct {
			uint64_t start;
			size_t nr_bytes;
			uint64_t at, word;
		} steps[] = {
			{MADE_RUNTIME + layout->runtime.first_interpreter, 8,
			 MADE_RUNTIME + layout->runtime.first_interpreter, MADE_INTERPRETER},
			{MADE_INTERPRETER, 0x2000, MADE_INTERPRETER + layout->runtime.first_thread,
			 MADE_OTHER_STATE},
			{MADE_OTHER_STATE, 0x200, MADE_OTHER_STATE + layout->thread.next,
			 MADE_STATE},
		};
		struct wanted_memory missing = {.nr = 0};
		struct made_python made;
		uint64_t state = 0;

		made_python_init(&made, versions[i]);
		made.python.runtime = MADE_RUNTIME;
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			missing = (struct wanted_memory){.nr = 0};
			assert_true(
				cpython_find_missing(&made.python, 0, &made.snapshot, &missing));
			assert_int_equal(missing.nr, 1);
			assert_in_range(missing.at[0].start, steps[k].start,
					steps[k].start + steps[k].nr_bytes - 1);
			made_python_region(&made, steps[k].start, steps[k].nr_bytes);
			made_python_put(&made, steps[k].at, steps[k].word);
		}
		missing = (struct wanted_memory){.nr = 0};
		assert_int_equal(
			cpython_find_thread(&made.python, &made.snapshot, &state, &missing),
			SCRIPT_PROVED);
		assert_int_equal(state, MADE_STATE);
		/* Then the walk goes on: what it misses are code objects. */
		assert_true(cpython_find_missing(&made.python, 0, &made.snapshot, &missing));
		assert_int_equal(missing.nr, NR_MADE_FUNCTIONS);
		/* That of a thread that is about to begin has the id of the one that makes it. */
		made_python_put(&made, MADE_OTHER_STATE + layout->thread.id, MADE_THREAD);
		if (layout->has_cframes)
			made_python_put(&made, MADE_OTHER_STATE + layout->thread.cframe,
					MADE_OTHER_STATE + layout->thread.root_cframe);
		assert_int_equal(
			cpython_find_thread(&made.python, &made.snapshot, &state, &missing),
			SCRIPT_PROVED);
		assert_int_equal(state, MADE_STATE);
		/* Where it is the only one it is that thread's. */
		made_python_put(&made, MADE_OTHER_STATE + layout->thread.next, 0);
		assert_int_equal(
			cpython_find_thread(&made.python, &made.snapshot, &state, &missing),
			SCRIPT_PROVED);
		assert_int_equal(state, MADE_OTHER_STATE);
		made_python_put(&made, MADE_OTHER_STATE + layout->thread.id, 0);
		/* A list that is a circle ends. */
		made_python_put(&made, MADE_OTHER_STATE + layout->thread.next, MADE_OTHER_STATE);
		assert_int_equal(
			cpython_find_thread(&made.python, &made.snapshot, &state, &missing),
			SCRIPT_NO_THREAD);
		snapshot_release(&made.snapshot);
	}
}
