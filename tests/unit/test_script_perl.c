// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts of Perl, the native loops that run them, and their names, made up. */
#include <unistd.h>

#include "base/clock.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/perl_names.h"
#include "script/perl_walk.h"
#include "tests/unit/made_perl.h"
#include "tests/unit/unit.h"

static struct made_perl made;

static enum script_outcome walk_of(struct script_walk *walk)
{
	made_perl_copy(&made);
	return perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot, made.natives,
			 made.nr_natives, walk);
}

static void release(struct script_walk *walk)
{
	script_walk_release(walk);
	snapshot_release(&made.snapshot);
}

#define CHECK_FRAME(walk, i, which_code, statement, which_native)                                  \
	do {                                                                                       \
		assert_int_equal((walk).frames[i].code, (uint64_t)(which_code));                   \
		assert_int_equal((walk).frames[i].instruction, at_of(made.statements[statement])); \
		assert_int_equal((walk).frames[i].native, (size_t)(which_native));                 \
	} while (0)

#define SUB_AT(which) at_of(made.heads[which])

TEST(script_perl, only_known_versions_have_a_layout)
{
	assert_int_equal(perl_layout_of(ARCH_X86_64, 5, 36)->interpreter.nr_bytes, 3768);
	assert_int_equal(perl_layout_of(ARCH_AARCH64, 5, 36)->interpreter.nr_bytes, 3864);
	assert_false(perl_layout_of(ARCH_X86_64, 5, 34));
	assert_false(perl_layout_of(ARCH_AARCH64, 5, 38));
}

TEST(script_perl, functions_that_call_each_other_are_in_one_loop)
{
	struct script_walk walk = {0};

	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	CHECK_FRAME(walk, 0, SUB_AT(1), 0, 1);
	CHECK_FRAME(walk, 1, SUB_AT(0), 2, 1);
	CHECK_FRAME(walk, 2, PERL_MAIN, 1, 1);
	assert_true(walk.wanted.nr);
	release(&walk);
}

TEST(script_perl, a_function_that_c_calls_is_in_a_loop_of_its_own)
{
	struct script_walk walk = {0};

	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, true);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	CHECK_FRAME(walk, 0, SUB_AT(1), 0, 1);
	CHECK_FRAME(walk, 1, SUB_AT(0), 2, 4);
	CHECK_FRAME(walk, 2, PERL_MAIN, 1, 4);
	/* Another function of C has called the loop. */
	NATIVES(&made, OTHER, PERL_RUNOPS, OTHER, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TORN);
	assert_int_equal(walk.nr_frames, 0);
	release(&walk);
}

TEST(script_perl, a_program_that_perl_still_compiles_has_no_loop)
{
	struct script_walk walk = {0};

	made_perl_begin(&made);
	put_int(made.interpreter, 2512, 1);
	push_sub(&made, 0, 1, true);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, OTHER, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 1);
	CHECK_FRAME(walk, 0, SUB_AT(0), 0, 1);
	release(&walk);
}

TEST(script_perl, an_eval_begins_a_loop_if_its_jump_buffer_says_so)
{
	struct script_walk walk = {0};

	made_perl_begin(&made);
	push_sub(&made, 0, 1, true);
	push_eval(&made, 2, 2);
	NATIVES(&made, OTHER, PERL_RUNOPS, OTHER, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS, PERL_RUN,
		OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	CHECK_FRAME(walk, 0, PERL_EVAL, 0, 1);
	CHECK_FRAME(walk, 1, SUB_AT(0), 2, 3);
	CHECK_FRAME(walk, 2, PERL_MAIN, 1, 5);
	/* One that is in the function's own loop. */
	made_perl_begin(&made);
	push_sub(&made, 0, 1, true);
	push_eval(&made, 2, 2);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	CHECK_FRAME(walk, 0, PERL_EVAL, 0, 1);
	CHECK_FRAME(walk, 1, SUB_AT(0), 2, 1);
	/* A jump buffer outside of its loop. */
	made_perl_begin(&made);
	push_sub(&made, 0, 1, true);
	push_eval(&made, 2, 4);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TORN);
	release(&walk);
}

static void begin_sort(void)
{
	made_perl_begin(&made);
	push_stack(&made, STACK_OF_SORT);
	push_context(&made, 0, 1);
}

TEST(script_perl, the_block_of_a_sort_has_a_loop_while_it_runs)
{
	struct script_walk walk = {0};

	begin_sort();
	NATIVES(&made, OTHER, PERL_RUNOPS, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 2);
	CHECK_FRAME(walk, 0, PERL_SORT, 0, 1);
	CHECK_FRAME(walk, 1, PERL_MAIN, 1, 3);
	/* Between two comparisons. */
	NATIVES(&made, OTHER, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 1);
	CHECK_FRAME(walk, 0, PERL_MAIN, 1, 2);
	/* It returned an object, with an operator. */
	push_stack(&made, 5);
	push_sub(&made, 0, 2, true);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_AMAGIC, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 2);
	CHECK_FRAME(walk, 0, SUB_AT(0), 0, 1);
	CHECK_FRAME(walk, 1, PERL_MAIN, 1, 4);
	release(&walk);
}

TEST(script_perl, the_last_call_of_a_block_does_not_return_to_c)
{
	struct script_walk walk = {0};

	begin_sort();
	push_sub(&made, 0, 2, true);
	NATIVES(&made, OTHER, PERL_RUNOPS, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	CHECK_FRAME(walk, 0, SUB_AT(0), 0, 1);
	CHECK_FRAME(walk, 1, PERL_SORT, 2, 1);
	CHECK_FRAME(walk, 2, PERL_MAIN, 1, 3);
	/* It does, if C has called it. */
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS, OTHER, PERL_RUNOPS, PERL_RUN,
		OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	CHECK_FRAME(walk, 0, SUB_AT(0), 0, 1);
	CHECK_FRAME(walk, 1, PERL_SORT, 2, 3);
	release(&walk);
}

TEST(script_perl, a_function_that_begins_or_ends_is_left_out)
{
	struct script_walk walk = {0};
	uint8_t *context;

	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	context = push_sub(&made, 1, 2, false);
	put_word(context, 72, 0);
	NATIVES(&made, PERL_LEAVESUB, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 2);
	CHECK_FRAME(walk, 0, SUB_AT(0), 2, 1);
	NATIVES(&made, PERL_ENTERSUB, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	CHECK_FRAME(walk, 0, SUB_AT(0), 0, 1);
	/* It cannot be known which of the two it is. */
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TORN);
	release(&walk);
}

TEST(script_perl, what_contradicts_itself_is_refused)
{
	struct script_walk walk = {0};

	/* Not in the chain of subs. */
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, false);
	put_int(made.contexts[0] + 104, 56, -1);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TORN);
	/* More loops than anything can have begun. */
	made_perl_begin(&made);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS, PERL_CALL_SV, PERL_RUNOPS,
		PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TORN);
	/* Stacks in a circle. */
	made_perl_begin(&made);
	push_stack(&made, STACK_OF_SORT);
	put_word(made.stacks[1], 16, at_of(made.stacks[1]));
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_TOO_DEEP);
	/* More contexts than are ever copied. */
	made_perl_begin(&made);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	put_int(made.stacks[0], 32, (int32_t)(WANTED_BYTES_MAX / 104));
	assert_int_equal(walk_of(&walk), SCRIPT_TOO_DEEP);
	/* Another function runs its operations. */
	made_perl_begin(&made);
	put_word(made.interpreter, 2288, RUNOPS + 1);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_NO_NATIVE_FRAME);
	/* The jump buffer is on another stack. */
	made_perl_begin(&made);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	put_word(made.interpreter, 760, 4096);
	assert_int_equal(walk_of(&walk), SCRIPT_NO_THREAD);
	release(&walk);
}

TEST(script_perl, a_thread_has_its_interpreter_by_a_key)
{
	struct script_walk walk = {0};
	uint64_t data[128] = {0}, block[64] = {0};

	made_perl_begin(&made);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	made.perl.key = 3;
	made.perl.keys = 100 * sizeof(*data);
	made.snapshot.thread_pointer = at_of(data);
	data[100] = at_of(block);
	block[2 * 3 + 1] = at_of(made.interpreter);
	made_perl_copy(&made);
	/* A jump buffer on its stack says as much. */
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_PROVED);
	put_word(made.interpreter, 760, 4096);
	made_perl_copy(&made);
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_NOT_COPIED);
	memcpy(snapshot_add_wanted(&made.snapshot, at_of(data), sizeof(data)), data, sizeof(data));
	memcpy(snapshot_add_wanted(&made.snapshot, at_of(block), sizeof(block)), block,
	       sizeof(block));
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 1);
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter) + 8, &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_NO_THREAD);
	/* The first block is just before the table. */
	data[100] = at_of(&data[100 - 64]);
	data[100 - 64 + 2 * 3 + 1] = at_of(made.interpreter);
	made_perl_copy(&made);
	memcpy(snapshot_add_wanted(&made.snapshot, at_of(data), sizeof(data)), data, sizeof(data));
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_PROVED);
	release(&walk);
}

/* Copy what is missing, as often as there is something. */
static int nr_steps(void)
{
	int nr = 0;

	snapshot_drop_regions(&made.snapshot);
	for (; nr < 20; nr++) {
		struct wanted_memory missing = {.nr = 0};

		if (!perl_find_missing(&made.perl, at_of(made.interpreter), &made.snapshot,
				       &missing))
			break;
		for (size_t i = 0; i < missing.nr; i++) {
			const struct wanted_range *range = &missing.at[i];

			memcpy(snapshot_add_wanted(&made.snapshot, range->start, range->nr_bytes),
			       (const void *)(uintptr_t)range->start, range->nr_bytes);
		}
	}
	return nr;
}

TEST(script_perl, what_a_snapshot_lacks_is_found_step_by_step)
{
	struct script_walk walk = {0};

	begin_sort();
	push_sub(&made, 0, 2, true);
	NATIVES(&made, OTHER, PERL_RUNOPS, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_true(nr_steps() < 12);
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_PROVED);
	assert_int_equal(walk.nr_frames, 3);
	release(&walk);
}

/* The key's value is in another page: it is not copied where the stack has a jump buffer. */
TEST(script_perl, the_key_is_looked_for_if_no_jump_buffer_is_on_the_stack)
{
	struct wanted_memory missing = {.nr = 0};
	uint64_t data[128] = {0}, stack[8] = {0};

	made_perl_begin(&made);
	made.perl.keys = 100 * sizeof(*data);
	made.snapshot.thread_pointer = at_of(data);
	regs_set(&made.snapshot.regs, 7, at_of(stack));
	put_word(made.interpreter, 760, at_of(&stack[4]));
	snapshot_drop_regions(&made.snapshot);
	memcpy(snapshot_add_region(&made.snapshot, at_of(stack), sizeof(stack)), stack,
	       sizeof(stack));
	memcpy(snapshot_add_wanted(&made.snapshot, at_of(made.interpreter),
				   sizeof(made.interpreter)),
	       made.interpreter, sizeof(made.interpreter));
	assert_true(
		perl_find_missing(&made.perl, at_of(made.interpreter), &made.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, at_of(made.stacks[0]));
	made.snapshot.regions[0].nr_bytes = 8;
	missing = (struct wanted_memory){.nr = 0};
	assert_true(
		perl_find_missing(&made.perl, at_of(made.interpreter), &made.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start + missing.at[0].nr_bytes, at_of(&data[101]));
}

static void add_late(const void *object, size_t nr_bytes)
{
	memcpy(snapshot_add_late(&made.snapshot, at_of(object), nr_bytes), object, nr_bytes);
}

static bool wants(const struct script_walk *walk, const void *object)
{
	for (size_t i = 0; i < walk->wanted.nr; i++) {
		if (walk->wanted.at[i].start == at_of(object))
			return true;
	}
	return false;
}

/* A closure's name, and the file of its statements, are copied in the stop until it is steady. */
TEST(script_perl, what_names_a_steady_closure_is_not_copied)
{
	struct script_walk walk = {0};

	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	put_int(made.bodies[0], 92, PERL_SUB_IS_NAMED | PERL_SUB_IS_ANONYMOUS);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_int_equal(walk_of(&walk), SCRIPT_PROVED);
	assert_true(wants(&walk, made.keys[0]));
	assert_true(wants(&walk, made.files[0]));
	assert_true(wants(&walk, made.files[4]));
	add_late(made.heads[0], 24);
	add_late(made.bodies[0], 96);
	add_late(made.statements[0], 64);
	add_late(made.statements[4], 64);
	assert_int_equal(perl_walk(&made.perl, at_of(made.interpreter), &made.snapshot,
				   made.natives, made.nr_natives, &walk),
			 SCRIPT_PROVED);
	assert_true(wants(&walk, made.bodies[0]));
	assert_false(wants(&walk, made.keys[0]));
	assert_false(wants(&walk, made.files[0]));
	assert_false(wants(&walk, made.files[4]));
	release(&walk);
}

/* --- names --- */

struct place_fixture {
	struct module_table *modules;
	struct space *space;
	struct perl_names *names;
	struct script_walk walk;
	struct script_place places[8];
};

static void begin_places(struct place_fixture *fixture)
{
	*fixture = (struct place_fixture){.modules = module_table_new()};
	fixture->space = space_new(fixture->modules, getpid());
	fixture->names = perl_names_new(perl_layout_of(ARCH_X86_64, 5, 36));
}

static const struct script_place *places_of(struct place_fixture *fixture)
{
	assert_int_equal(walk_of(&fixture->walk), SCRIPT_PROVED);
	assert_true(fixture->walk.nr_frames <= ARRAY_SIZE(fixture->places));
	perl_names_find(fixture->names, fixture->space, &made.snapshot, fixture->walk.frames,
			fixture->walk.nr_frames, fixture->places);
	return fixture->places;
}

static void end_places(struct place_fixture *fixture)
{
	perl_names_free(fixture->names);
	space_free(fixture->space);
	module_table_free(fixture->modules);
	release(&fixture->walk);
}

TEST(script_perl, functions_have_names_files_and_lines)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	places = places_of(&fixture);
	assert_string_equal(places[0].name, "Work::g");
	assert_string_equal(places[0].file, "app.pl");
	assert_int_equal(places[0].line, 10);
	assert_int_equal(places[0].first_line, 15);
	assert_string_equal(places[1].name, "Work::f");
	assert_int_equal(places[1].line, 12);
	assert_string_equal(places[2].name, "(main)");
	assert_int_equal(places[2].line, 11);
	end_places(&fixture);
}

TEST(script_perl, a_function_that_has_just_been_called_is_at_its_first_line)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 0, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	places = places_of(&fixture);
	assert_int_equal(places[0].line, 14);
	assert_int_equal(places[1].line, 10);
	/* One that calls itself is where it was, too. */
	push_sub(&made, 0, 0, false);
	places = places_of(&fixture);
	assert_int_equal(places[0].line, 10);
	end_places(&fixture);
}

TEST(script_perl, evals_have_no_numbers)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	strcpy(made.files[0], "(eval 123)[app.pl:7]");
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	places = places_of(&fixture);
	assert_string_equal(places[0].file, "(eval)[app.pl:7]");
	end_places(&fixture);
}

TEST(script_perl, a_function_that_was_replaced_has_its_own_name)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_string_equal(places_of(&fixture)[0].name, "Work::f");
	/* Another one is compiled in the same place: no two statements have the same number. */
	set_key(made.keys[0], "other");
	put_int(made.statements[4], 60, 5000);
	places = places_of(&fixture);
	assert_string_equal(places[0].name, "Work::other");
	assert_string_equal(places[1].name, "(main)");
	end_places(&fixture);
}

/* As if the snapshot had none of their objects. */
static const struct script_place *places_later(struct place_fixture *fixture)
{
	const struct snapshot nothing = {.time_ns = made.snapshot.time_ns};

	perl_names_find(fixture->names, fixture->space, &nothing, fixture->walk.frames,
			fixture->walk.nr_frames, fixture->places);
	return fixture->places;
}

/* Where closures come and go, one that was there before may be there again since the stop. */
TEST(script_perl, a_closure_that_is_known_may_have_been_another_in_the_stop)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	put_int(made.bodies[1], 92, PERL_SUB_IS_NAMED | PERL_SUB_IS_ANONYMOUS);
	places_of(&fixture);
	places = places_later(&fixture);
	assert_string_equal(places[0].name, "Work::g");
	assert_string_equal(places[1].name, "Work::f");
	/* Another one takes the place of each. */
	put_int(made.statements[4], 60, 5000);
	put_int(made.statements[5], 60, 5001);
	places_of(&fixture);
	places = places_later(&fixture);
	assert_false(places[0].name);
	/* A sub is compiled once. */
	assert_string_equal(places[1].name, "Work::f");
	places = places_of(&fixture);
	assert_string_equal(places[0].name, "Work::g");
	end_places(&fixture);
}

TEST(script_perl, an_object_that_is_none_has_no_name)
{
	const struct script_place *places;
	struct place_fixture fixture;

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	put_int(made.heads[0], 12, 11);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	assert_false(places_of(&fixture)[0].name);
	/* A freed statement is of no known kind. */
	made.statements[0][32] = 1;
	put_int(made.heads[0], 12, 13);
	places = places_of(&fixture);
	assert_false(places[0].name);
	assert_string_equal(places[1].name, "(main)");
	/* An interpreter that has no statement. */
	put_word(made.interpreter, 208, 0);
	assert_false(places_of(&fixture)[0].name);
	end_places(&fixture);
}

/* A hundred walks that have seen none replaced say as much as a long time. */
TEST(script_perl, objects_are_steady_after_many_walks)
{
	struct place_fixture fixture;
	const uint64_t sub = at_of(made.heads[0]);

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	for (uint64_t i = 0; i < 100; i++) {
		assert_false(perl_names_is_steady(fixture.names, sub, 24));
		made.snapshot.time_ns = i * 6 * NS_PER_MS;
		places_of(&fixture);
	}
	assert_true(perl_names_is_steady(fixture.names, sub, 24));
	put_int(made.statements[4], 60, 5000);
	for (uint64_t i = 100; i < 220; i++) {
		made.snapshot.time_ns = i * 6 * NS_PER_MS;
		places_of(&fixture);
		assert_false(perl_names_is_steady(fixture.names, sub, 24));
	}
	end_places(&fixture);
}

/* A closure may be made again as it was before; what is compiled has a number of its own. */
TEST(script_perl, what_is_compiled_is_steady_while_closures_are_replaced)
{
	struct place_fixture fixture;
	const uint64_t sub = at_of(made.heads[0]), closure = at_of(made.heads[1]);

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	push_sub(&made, 1, 2, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	put_int(made.bodies[1], 92, PERL_SUB_IS_NAMED | PERL_SUB_IS_ANONYMOUS);
	for (int i = 0; i < 40; i++) {
		made.snapshot.time_ns += 100 * NS_PER_MS;
		places_of(&fixture);
	}
	assert_true(perl_names_is_steady(fixture.names, sub, 24));
	assert_true(perl_names_is_steady(fixture.names, closure, 24));
	/* Another closure takes its place. */
	put_int(made.bodies[1], 92, PERL_SUB_IS_NAMED | PERL_SUB_IS_ANONYMOUS | 1);
	places_of(&fixture);
	assert_true(perl_names_is_steady(fixture.names, sub, 24));
	assert_true(perl_names_is_steady(fixture.names, at_of(made.bodies[0]), 96));
	assert_true(perl_names_is_steady(fixture.names, at_of(made.statements[0]), 64));
	for (int i = 0; i < 10; i++) {
		made.snapshot.time_ns += 100 * NS_PER_MS;
		places_of(&fixture);
		assert_false(perl_names_is_steady(fixture.names, closure, 24));
	}
	/* A sub that is compiled takes it. */
	put_int(made.bodies[1], 92, PERL_SUB_IS_NAMED);
	places_of(&fixture);
	assert_false(perl_names_is_steady(fixture.names, sub, 24));
	end_places(&fixture);
}

TEST(script_perl, objects_are_steady_after_some_time)
{
	struct place_fixture fixture;
	const uint64_t sub = at_of(made.heads[0]), body = at_of(made.bodies[0]);

	begin_places(&fixture);
	made_perl_begin(&made);
	push_sub(&made, 0, 1, false);
	NATIVES(&made, OTHER, PERL_RUNOPS, PERL_RUN, OTHER);
	for (uint64_t i = 0; i < 40; i++) {
		assert_false(perl_names_is_steady(fixture.names, sub, 24));
		made.snapshot.time_ns = i * 100 * NS_PER_MS;
		places_of(&fixture);
		if (made.snapshot.time_ns >= 2 * NS_PER_SEC)
			break;
	}
	assert_true(perl_names_is_steady(fixture.names, sub, 24));
	assert_true(perl_names_is_steady(fixture.names, body, 96));
	assert_true(perl_names_is_steady(fixture.names, at_of(made.statements[0]), 64));
	/* The first one of the sub, though no frame is at it. */
	assert_true(perl_names_is_steady(fixture.names, at_of(made.statements[4]), 64));
	assert_false(perl_names_is_steady(fixture.names, at_of(made.statements[7]), 64));
	/* While some are replaced, none is. */
	put_int(made.statements[4], 60, 5000);
	places_of(&fixture);
	assert_false(perl_names_is_steady(fixture.names, at_of(made.statements[0]), 64));
	end_places(&fixture);
}
