// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of functions of V8, and their objects, made up in the memory of this process. */
#include <unistd.h>

#include "base/alloc.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/v8.h"
#include "script/v8_baseline.h"
#include "script/v8_layout.h"
#include "script/v8_lines.h"
#include "script/v8_names.h"
#include "script/v8_positions.h"
#include "script/v8_text.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"

#define BUILTINS UINT64_C(0x1000)
#define STACK	 UINT64_C(0x7ffe00000000)

static const struct v8 v8 = {.builtins_start = BUILTINS,
			     .builtins_end = BUILTINS + 0x1000,
			     .fp_function = -16,
			     .fp_context = -8,
			     .fp_bytecodes = -32,
			     .fp_offset = -40,
			     .exit_mark = 6,
			     .builtin_exit_mark = 42,
			     .shared = 24,
			     .scope = 16,
			     .script = 32};

enum {
	TYPE_TEXT = 8, /* of one byte a character; + 0: of two */
	TYPE_WIDE = 0,
	TYPE_CONS = 1 + 8,
	TYPE_EXTERNAL = 2 + 8,
	TYPE_SLICED = 3 + 8,
	TYPE_THIN = 5 + 8,
	TYPE_ODDBALL = 0x83,
	TYPE_SCRIPT = 0xa0,
	TYPE_MAP = 0xb0,
	TYPE_SHARED,
	TYPE_SCOPE,
	TYPE_BYTECODES,
	TYPE_BYTES,
	TYPE_CODE,
	TYPE_FUNCTION = 0x800,
};

static const struct v8_layout layout = {.map_type = 12,
					.script_name = 16,
					.script_source = 8,
					.script_line_ends = 56,
					.shared_code = 8,
					.bytecodes_data = 54,
					.code.start = 40,
					.code.size = 56,
					.code.flags = 48,
					.code.kind_mask = 15,
					.code.kind_baseline = 11,
					.code.type = TYPE_CODE,
					.text.length = 12,
					.text.characters = 16,
					.text.thin_actual = 16,
					.text.cons_first = 16,
					.text.cons_second = 24,
					.text.sliced_parent = 16,
					.text.sliced_offset = 24,
					.text.external_characters = 24,
					.type_function = TYPE_FUNCTION,
					.type_shared = TYPE_SHARED,
					.type_scope = TYPE_SCOPE,
					.type_script = TYPE_SCRIPT,
					.type_map = TYPE_MAP,
					.type_bytecodes = TYPE_BYTECODES,
					.type_bytes = TYPE_BYTES,
					.text.end = 0x80,
					.text.shape_mask = 7,
					.text.sequential = 0,
					.text.cons = 1,
					.text.external = 2,
					.text.sliced = 3,
					.text.thin = 5,
					.text.width_mask = 8,
					.text.one_byte = 8};

/* --- walks --- */

enum { NR_NATIVES = 5 };

/*
 * From the leaf on: a function of C++, a builtin, code that was made, C++ with an object where a
 * function would have its own, and the outermost.
 */
struct stack {
	struct snapshot snapshot;
	struct script_native natives[NR_NATIVES];
	uint64_t objects[16]; /* a function of the builtin, one of the code, and what each shares */
};

static void put(struct stack *stack, uint64_t address, uint64_t word)
{
	memcpy(stack->snapshot.bytes + (address - STACK), &word, sizeof(word));
}

static uint64_t pointer_to(const uint64_t *object)
{
	return (uintptr_t)object + 1;
}

static void put_function(struct stack *stack, size_t native, const uint64_t *function)
{
	uint64_t fp = stack->natives[native + 1].sp - 16;

	put(stack, fp - 8, 0x1001);
	put(stack, fp - 16, pointer_to(function));
	put(stack, fp, stack->natives[native + 1].sp + 0xf0);
}

static struct stack make_stack(void)
{
	struct stack stack = {.snapshot = {.arch = ARCH_X86_64}};

	memset(snapshot_add_region(&stack.snapshot, STACK, 0x800), 0, 0x800);
	for (size_t i = 0; i < NR_NATIVES; i++)
		stack.natives[i] = (struct script_native){.sp = STACK + 0x100 + i * 0x100};
	stack.natives[1].is_interpreter = true;
	stack.natives[1].address = BUILTINS + 0x10;
	stack.natives[2].is_generated = true;
	stack.natives[3].is_interpreter = true;
	stack.natives[3].address = BUILTINS - 0x10;
	regs_set(&stack.snapshot.regs, 7, stack.natives[0].sp);
	regs_set(&stack.snapshot.regs, 6, 12);
	return stack;
}

static void put_functions(struct stack *stack)
{
	put_function(stack, 1, &stack->objects[0]);
	put_function(stack, 2, &stack->objects[4]);
	put_function(stack, 3, &stack->objects[4]);
	stack->objects[3] = pointer_to(&stack->objects[9]);
	stack->objects[7] = pointer_to(&stack->objects[9]);
}

static void copy(struct snapshot *snapshot, const void *object, size_t nr_bytes,
		 enum region_kind kind)
{
	uint8_t *room = snapshot_add_due(snapshot, (uintptr_t)object, nr_bytes);

	memcpy(room, object, nr_bytes);
	snapshot->regions[snapshot->nr_regions - 1].kind = kind;
}

static void copy_objects(struct stack *stack)
{
	copy(&stack->snapshot, stack->objects, sizeof(stack->objects), REGION_WANTED);
}

TEST(v8_walk, takes_functions_of_builtins_and_of_made_code)
{
	struct stack stack = make_stack();
	struct script_walk out = {0};

	put_functions(&stack);
	copy_objects(&stack);
	assert_int_equal(v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out),
			 SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, 2);
	assert_int_equal(out.frames[0].native, 1);
	assert_int_equal(out.frames[0].code, (uintptr_t)&stack.objects[0]);
	assert_int_equal(out.frames[1].native, 2);
	assert_int_equal(out.frames[1].code, (uintptr_t)&stack.objects[4]);
	/* Functions that are side by side are wanted as one, and what they share. */
	assert_int_equal(out.wanted.nr, 2);
	assert_int_equal(out.wanted.at[0].nr_bytes, 2 * v8_function_bytes(&v8));
	script_walk_release(&out);
	snapshot_release(&stack.snapshot);
}

TEST(v8_walk, leaves_out_what_was_not_copied_and_wants_it)
{
	struct stack stack = make_stack();
	struct script_walk out = {0};

	put_functions(&stack);
	copy(&stack.snapshot, &stack.objects[4], 12 * sizeof(*stack.objects), REGION_WANTED);
	assert_int_equal(v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out),
			 SCRIPT_NOT_COPIED);
	assert_int_equal(out.nr_frames, 1);
	assert_int_equal(out.frames[0].native, 2);
	assert_int_equal(out.wanted.at[0].start, (uintptr_t)&stack.objects[0]);
	script_walk_release(&out);
	snapshot_release(&stack.snapshot);
}

/* A number in place of a context says that the frame is of no function. */
TEST(v8_walk, takes_no_frame_of_another_kind)
{
	struct stack stack = make_stack();
	struct script_walk out = {0};

	put_functions(&stack);
	put(&stack, stack.natives[2].sp - 24, UINT64_C(17) << 32);
	put(&stack, stack.natives[3].sp - 32, UINT64_C(17) << 32);
	assert_int_equal(v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out),
			 SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, 0);
	script_walk_release(&out);
	snapshot_release(&stack.snapshot);
}

/* A leaf has its function once its frame pointer is set and its stack pointer is below that. */
TEST(v8_walk, takes_a_leaf_that_is_neither_beginning_nor_ending)
{
	static const struct {
		uint64_t fp, sp;
		size_t nr;
	} cases[] = {{0x1f0, 0x1e0, 1}, {0x1f0, 0x100, 1}, {0x1f0, 0x1e8, 0},
		     {0x1f0, 0x1f0, 0}, {0x2f0, 0x1e0, 0}, {0, 0x1e0, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stack stack = make_stack();
		struct script_walk out = {0};

		stack.natives[0].is_generated = true;
		stack.natives[0].sp = STACK + cases[i].sp;
		stack.natives[1].is_interpreter = stack.natives[2].is_generated = false;
		put_function(&stack, 0, &stack.objects[0]);
		stack.objects[3] = pointer_to(&stack.objects[9]);
		copy_objects(&stack);
		regs_set(&stack.snapshot.regs, 6, cases[i].fp ? STACK + cases[i].fp : 0);
		v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out);
		assert_int_equal(out.nr_frames, cases[i].nr);
		script_walk_release(&out);
		snapshot_release(&stack.snapshot);
	}
}

/* Where a signal came to a function that has no frame yet, there is one of an earlier call. */
TEST(v8_walk, takes_no_frame_below_the_stack_pointer)
{
	struct stack stack = make_stack();
	struct script_walk out = {0};

	put_functions(&stack);
	copy_objects(&stack);
	stack.natives[1].sp = stack.natives[2].sp - 24;
	assert_int_equal(v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out),
			 SCRIPT_PROVED);
	assert_int_equal(out.nr_frames, 1);
	assert_int_equal(out.frames[0].native, 2);
	script_walk_release(&out);
	snapshot_release(&stack.snapshot);
}

#define OBJECT UINT64_C(0x5001)

/* The function at native frame 2 is interpreted, at one of its bytecodes; frame 1 is a builtin. */
static void put_bytecodes(struct stack *stack)
{
	uint64_t fp = stack->natives[3].sp - 16;

	put_functions(stack);
	copy_objects(stack);
	stack->natives[2].is_generated = false;
	stack->natives[2].is_interpreter = true;
	stack->natives[2].address = BUILTINS + 0x20;
	put(stack, fp - 32, OBJECT);
	put(stack, fp - 40, UINT64_C(0x3b) << 32);
	put(stack, stack->natives[2].sp - 16, fp);
}

/* Walk, and tell which bytecodes the last function has, that of native frame 2. */
static uint64_t bytecodes_in(struct stack *stack, uint64_t *offset)
{
	struct script_walk out = {0};
	uint64_t bytecodes;

	v8_walk(&v8, &stack->snapshot, stack->natives, NR_NATIVES, &out);
	assert_in_range(out.nr_frames, 1, 2);
	assert_int_equal(out.frames[out.nr_frames - 1].native, 2);
	bytecodes = out.frames[out.nr_frames - 1].bytecodes;
	*offset = out.frames[out.nr_frames - 1].instruction;
	script_walk_release(&out);
	snapshot_release(&stack->snapshot);
	return bytecodes;
}

TEST(v8_walk, interpreted_function_that_called_another_has_its_bytecode)
{
	struct stack stack = make_stack();
	uint64_t offset;

	put_bytecodes(&stack);
	assert_int_equal(bytecodes_in(&stack, &offset), OBJECT - 1);
	assert_int_equal(offset, 0x3b);
}

TEST(v8_walk, so_has_one_that_called_into_cxx)
{
	static const uint64_t marks[] = {6, 42};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct stack stack = make_stack();
		uint64_t offset;

		put_bytecodes(&stack);
		put(&stack, stack.natives[2].sp - 24, marks[i]);
		assert_int_equal(bytecodes_in(&stack, &offset), OBJECT - 1);
	}
}

/* The place in its frame is that of an earlier call while it runs bytecodes that call nothing. */
TEST(v8_walk, no_other_function_has_its_bytecode)
{
	enum change { OTHER_MARK, NO_LINK, NO_NUMBER, NO_POINTER, NR_CHANGES };

	for (enum change change = 0; change < NR_CHANGES; change++) {
		struct stack stack = make_stack();
		uint64_t fp = stack.natives[3].sp - 16, offset;

		put_bytecodes(&stack);
		if (change == OTHER_MARK)
			put(&stack, stack.natives[2].sp - 24, 2);
		if (change == NO_LINK)
			put(&stack, stack.natives[2].sp - 16, fp + 8);
		if (change == NO_NUMBER)
			put(&stack, fp - 40, OBJECT);
		if (change == NO_POINTER)
			put(&stack, fp - 32, UINT64_C(0x3b) << 32);
		assert_int_equal(bytecodes_in(&stack, &offset), 0);
	}
}

/* Where C++ is the leaf, its frame pointer is anything; the chain begins some words above. */
TEST(v8_walk, compiled_function_has_bytecodes_and_its_instruction)
{
	/* The frame above it does not matter, nor does the word next to the bytecodes. */
	for (int case_nr = 0; case_nr < 2; case_nr++) {
		struct stack stack = make_stack();
		uint64_t fp = stack.natives[3].sp - 16;
		struct script_walk out = {0};

		put_bytecodes(&stack);
		stack.natives[2].is_generated = true;
		stack.natives[2].is_interpreter = false;
		stack.natives[2].address = 0x7e0000001234;
		put(&stack, fp - 40, case_nr ? OBJECT : UINT64_C(0x3b) << 32);
		put(&stack, stack.natives[2].sp - 16, fp + 8);
		v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out);
		assert_int_equal(out.frames[out.nr_frames - 1].native, 2);
		assert_true(out.frames[out.nr_frames - 1].is_compiled);
		assert_int_equal(out.frames[out.nr_frames - 1].bytecodes, OBJECT - 1);
		assert_int_equal(out.frames[out.nr_frames - 1].instruction, 0x7e0000001234);
		script_walk_release(&out);
		snapshot_release(&stack.snapshot);
	}
}

TEST(v8_walk, finds_what_is_missing_from_the_stack_alone)
{
	struct stack stack = make_stack();
	struct wanted_memory missing = {.nr = 0};

	put_functions(&stack);
	put(&stack, stack.natives[2].sp - 16, stack.natives[3].sp - 16);
	assert_true(v8_find_missing(&v8, &stack.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, (uintptr_t)&stack.objects[0]);
	assert_int_equal(missing.at[0].nr_bytes, 2 * v8_function_bytes(&v8));

	copy(&stack.snapshot, stack.objects, 8 * sizeof(*stack.objects), REGION_WANTED);
	missing.nr = 0;
	assert_true(v8_find_missing(&v8, &stack.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, (uintptr_t)&stack.objects[9]);
	copy(&stack.snapshot, &stack.objects[9], 5 * sizeof(*stack.objects), REGION_WANTED);
	missing.nr = 0;
	assert_false(v8_find_missing(&v8, &stack.snapshot, &missing));
	snapshot_release(&stack.snapshot);
}

/* Where a function of a script is called from, the code of its module has builtins alone. */
TEST(v8_walk, misses_nothing_of_frames_that_were_called_by_c_plus_plus)
{
	struct v8 in_memory = v8;
	struct stack stack = make_stack();
	struct wanted_memory missing = {.nr = 0};

	in_memory.bias = 0x550000000000;
	in_memory.code_start = in_memory.bias + BUILTINS - 0x1000;
	in_memory.code_end = in_memory.bias + BUILTINS + 0x2000;
	put_functions(&stack);
	put(&stack, stack.natives[2].sp - 16, stack.natives[3].sp - 16);
	put(&stack, stack.natives[2].sp - 8, in_memory.bias + BUILTINS + 8);
	put(&stack, stack.natives[3].sp - 8, in_memory.bias + BUILTINS - 8);
	put(&stack, stack.natives[4].sp - 8, in_memory.bias + BUILTINS + 0x1000);
	assert_true(v8_find_missing(&in_memory, &stack.snapshot, &missing));
	assert_int_equal(missing.nr, 1);
	assert_int_equal(missing.at[0].start, (uintptr_t)&stack.objects[0]);
	assert_int_equal(missing.at[0].nr_bytes, v8_function_bytes(&v8));
	snapshot_release(&stack.snapshot);
}

/* Any bytes may be on a stack. */
TEST(v8_walk, ends_whatever_is_on_the_stack)
{
	uint64_t random = 7;

	for (int i = 0; i < 20000; i++) {
		struct stack stack = make_stack();
		struct script_walk out = {0};
		struct wanted_memory missing = {.nr = 0};

		put_functions(&stack);
		copy_objects(&stack);
		for (int k = 0; k < 12; k++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			put(&stack, STACK + (random >> 33) % 0x7f8,
			    k % 3 ? STACK + (random >> 13) % 0x900 : random);
		}
		regs_set(&stack.snapshot.regs, 6, STACK + (random >> 20) % 0x900);
		v8_walk(&v8, &stack.snapshot, stack.natives, NR_NATIVES, &out);
		assert_in_range(out.nr_frames, 0, NR_NATIVES);
		v8_find_missing(&v8, &stack.snapshot, &missing);
		script_walk_release(&out);
		snapshot_release(&stack.snapshot);
	}
}

/* --- positions --- */

/* The table that Node.js 20 has for `function mid()`, which begins at 234 and calls at 264. */
static const uint8_t table_of_mid[] = {0x01, 0xac, 0x07, 0x02, 0x48, 0x06,
				       0x1c, 0x07, 0x14, 0x14, 0x54};

static uint32_t position_at(const uint8_t *table, size_t nr_bytes, uint32_t offset)
{
	uint32_t position;

	return v8_positions_find(table, nr_bytes, offset, &position) ? position : UINT32_MAX;
}

TEST(v8_positions, are_those_of_the_last_entry_before)
{
	static const struct {
		uint32_t offset, position;
	} cases[] = {{0, 252}, {2, 252},  {3, 259},  {5, 259},
		     {6, 264}, {15, 264}, {16, 285}, {UINT32_MAX, 285}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(position_at(table_of_mid, sizeof(table_of_mid), cases[i].offset),
				 cases[i].position);
}

TEST(v8_positions, damaged_table_has_none)
{
	static const uint8_t cases[][12] = {
		{0x01, 0xac, 0x07, 0x02},				/* half an entry */
		{0x01, 0xac, 0x87},					/* half a number */
		{0x01, 0x40, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x02}, /* a long one */
		{0x01, 0xfe, 0xff, 0xff, 0xff, 0x7f},			/* a high position */
		{0x01, 0xff, 0xff, 0xff, 0xff, 0x7f},			/* a negative one */
		{0x01, 0x00, 0x02, 0x01}, /* V8 has no position of this entry */
	};
	static const size_t nr_bytes[] = {4, 3, 9, 6, 6, 4};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(position_at(cases[i], nr_bytes[i], 5), UINT32_MAX);
	assert_int_equal(position_at(table_of_mid, 0, 5), UINT32_MAX);
}

/* Every byte of the table with every value, and every length of it. */
TEST(v8_positions, end_whatever_the_table_has)
{
	for (size_t nr = 0; nr <= sizeof(table_of_mid); nr++) {
		for (size_t at = 0; at < nr; at++) {
			for (unsigned int value = 0; value < 256; value++) {
				uint8_t *table = xcalloc(nr, 1);
				uint32_t position;

				memcpy(table, table_of_mid, nr);
				table[at] = (uint8_t)value;
				if (v8_positions_find(table, nr, 6, &position))
					assert_in_range(position, 0, INT32_MAX / 2);
				free(table);
			}
		}
	}
}

/* --- baseline code --- */

/* Bytecodes of one byte, of two, and of three; wide ones have twice and four times the operands. */
enum { WIDE, EXTRA_WIDE, DEBUG_WIDE, DEBUG_EXTRA_WIDE, ONE, TWO, THREE };

static struct v8_layout layout_with_sizes(void)
{
	struct v8_layout with = layout;

	for (size_t scale = 0; scale < V8_NR_SCALES; scale++) {
		memset(with.bytecode_sizes[scale], 1, V8_NR_BYTECODES);
		with.bytecode_sizes[scale][TWO] = (uint8_t)(1 + (1 << scale));
		with.bytecode_sizes[scale][THREE] = (uint8_t)(1 + 2 * (1 << scale));
	}
	return with;
}

#define NO_OFFSET UINT32_MAX

static uint32_t offset_at(const uint8_t *bytecodes, size_t nr_bytecodes, const uint8_t *ends,
			  size_t nr_ends, uint32_t nr_code_bytes, uint32_t at)
{
	const struct v8_layout with = layout_with_sizes();
	uint32_t offset;

	return v8_baseline_offset(&with, (struct v8_bytes){bytecodes, nr_bytecodes},
				  (struct v8_bytes){ends, nr_ends}, nr_code_bytes, at, &offset)
		       ? offset
		       : NO_OFFSET;
}

/*
 * Byte of the code:      0      8    12  12        142       150 to 160
 * bytecodes:           start   one  two three   wide two     end
 * at their offset:              0    1    3        6
 */
static const uint8_t bytecodes_of_code[] = {ONE, TWO, 200, THREE, 1, 2, WIDE, TWO, 5, 6};
static const uint8_t ends_of_code[] = {8, 4, 0, 0x82, 0x01, 8};

TEST(v8_baseline, code_is_at_the_bytecode_of_its_piece)
{
	static const struct {
		uint32_t at, offset;
	} cases[] = {{0, NO_OFFSET},   {7, NO_OFFSET},	 {8, 0},	   {11, 0},
		     {12, 3},	       {141, 3},	 {142, 6},	   {149, 6},
		     {150, NO_OFFSET}, {159, NO_OFFSET}, {4000, NO_OFFSET}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(offset_at(bytecodes_of_code, sizeof(bytecodes_of_code),
					   ends_of_code, sizeof(ends_of_code), 160, cases[i].at),
				 cases[i].offset);
}

/* The bytecodes of another version, say. */
TEST(v8_baseline, pieces_that_do_not_match_the_bytecodes_are_none)
{
	const size_t nr_bytecodes = sizeof(bytecodes_of_code), nr_ends = sizeof(ends_of_code);
	uint8_t bytes[sizeof(bytecodes_of_code) + 1];

	/* A piece, or a bytecode, is missing or too many; the last bytecode is cut. */
	assert_int_equal(
		offset_at(bytecodes_of_code, nr_bytecodes, ends_of_code, nr_ends - 1, 160, 9),
		NO_OFFSET);
	memcpy(bytes, ends_of_code, nr_ends);
	bytes[nr_ends] = 1;
	assert_int_equal(offset_at(bytecodes_of_code, nr_bytecodes, bytes, nr_ends + 1, 160, 9),
			 NO_OFFSET);
	memcpy(bytes, bytecodes_of_code, nr_bytecodes);
	bytes[nr_bytecodes] = ONE;
	assert_int_equal(offset_at(bytes, nr_bytecodes + 1, ends_of_code, nr_ends, 160, 9),
			 NO_OFFSET);
	assert_int_equal(offset_at(bytes, nr_bytecodes - 1, ends_of_code, nr_ends, 160, 9),
			 NO_OFFSET);
	assert_int_equal(offset_at(bytes, 7, ends_of_code, nr_ends, 160, 9), NO_OFFSET);
	/* The pieces are longer than the code. */
	assert_int_equal(offset_at(bytecodes_of_code, nr_bytecodes, ends_of_code, nr_ends, 150, 9),
			 0);
	assert_int_equal(offset_at(bytecodes_of_code, nr_bytecodes, ends_of_code, nr_ends, 149, 9),
			 NO_OFFSET);
	/* There is no such bytecode, and no such number. */
	bytes[0] = V8_NR_BYTECODES;
	assert_int_equal(offset_at(bytes, nr_bytecodes, ends_of_code, nr_ends, 160, 9), NO_OFFSET);
	assert_int_equal(offset_at(bytecodes_of_code, nr_bytecodes,
				   (const uint8_t *)"\x88\x80\x80\x80\0", 5, 160, 9),
			 NO_OFFSET);
	assert_int_equal(offset_at(bytecodes_of_code, nr_bytecodes, NULL, 0, 160, 9), NO_OFFSET);
}

TEST(v8_baseline, any_bytes_end)
{
	for (uint32_t seed = 1; seed <= 20000; seed++) {
		uint8_t bytes[24];
		uint32_t random = seed;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(random >> (seed % 2 ? 24 : 30));
		}
		uint8_t *bytecodes = xmalloc(seed % 12 + 1), *ends = xmalloc(12);

		memcpy(bytecodes, bytes, seed % 12 + 1);
		memcpy(ends, bytes + 12, 12);
		random = offset_at(bytecodes, seed % 12 + 1, ends, 12, UINT32_MAX, seed % 50);
		assert_true(random == NO_OFFSET || random <= seed % 12);
		free(bytecodes);
		free(ends);
	}
}

/* --- names --- */

enum object {
	MAP_OF_MAPS,
	MAP_OF_FUNCTIONS,
	MAP_OF_SHARED,
	MAP_OF_SCOPES,
	MAP_OF_SCRIPTS,
	MAP_OF_TEXTS,
	MAP_OF_OTHER_TEXTS,
	MAP_OF_ODDBALLS,
	MAP_OF_BYTECODES,
	MAP_OF_BYTES,
	MAP_OF_CODES,
	FUNCTION,
	SHARED,
	SCOPE,
	SCRIPT,
	NAME,
	GUESSED,
	FILE_NAME,
	SOURCE,
	ODDBALL,
	BYTECODES,
	POSITIONS,
	CODE,
	ENDS,
	OTHER,
	NR_OBJECTS,
};

#define NR_WORDS 32

struct fixture {
	struct module_table *modules;
	struct space *space;
	struct v8_names *names;
	struct snapshot snapshot;
	uint64_t now_ms; /* for code that is checked now and then */
	uint64_t objects[NR_OBJECTS][NR_WORDS];
};

static uint64_t small(uint64_t number)
{
	return number << 32;
}

static uint64_t pointer(const struct fixture *fixture, enum object object)
{
	return pointer_to(fixture->objects[object]);
}

static void put_map(struct fixture *fixture, enum object map, uint16_t type)
{
	fixture->objects[map][0] = pointer(fixture, MAP_OF_MAPS);
	memcpy((uint8_t *)fixture->objects[map] + layout.map_type, &type, sizeof(type));
}

static void put_text(struct fixture *fixture, enum object object, const char *text)
{
	const uint32_t length = (uint32_t)strlen(text);

	fixture->objects[object][0] = pointer(fixture, MAP_OF_TEXTS);
	memcpy((uint8_t *)fixture->objects[object] + layout.text.length, &length, sizeof(length));
	memcpy((uint8_t *)fixture->objects[object] + layout.text.characters, text, length);
}

/* It begins at 15; its bytecodes 0 to 5 are of the end of its first line, those from 6 on of its
 * next one.
 */
static const uint8_t table_of_area[] = {0x01, 0x40, 0x02, 0x28, 0x0c, 0x24};

/* A function with one variable in a context, a name, and another one that was guessed. */
#define FLAGS (2 | 3 << 12 | 1 << 14)

static void put_objects(struct fixture *fixture)
{
	uint64_t(*objects)[NR_WORDS] = fixture->objects;

	put_map(fixture, MAP_OF_MAPS, TYPE_MAP);
	put_map(fixture, MAP_OF_FUNCTIONS, TYPE_FUNCTION + 1);
	put_map(fixture, MAP_OF_SHARED, TYPE_SHARED);
	put_map(fixture, MAP_OF_SCOPES, TYPE_SCOPE);
	put_map(fixture, MAP_OF_SCRIPTS, TYPE_SCRIPT);
	put_map(fixture, MAP_OF_TEXTS, TYPE_TEXT);
	put_map(fixture, MAP_OF_ODDBALLS, TYPE_ODDBALL);
	put_map(fixture, MAP_OF_BYTECODES, TYPE_BYTECODES);
	put_map(fixture, MAP_OF_BYTES, TYPE_BYTES);
	objects[SHARED][1] = pointer(fixture, BYTECODES);
	objects[BYTECODES][0] = pointer(fixture, MAP_OF_BYTECODES);
	objects[BYTECODES][1] = small(17);
	objects[BYTECODES][4] = pointer(fixture, POSITIONS);
	objects[POSITIONS][0] = pointer(fixture, MAP_OF_BYTES);
	objects[POSITIONS][1] = small(sizeof(table_of_area));
	memcpy(&objects[POSITIONS][2], table_of_area, sizeof(table_of_area));
	objects[FUNCTION][0] = pointer(fixture, MAP_OF_FUNCTIONS);
	objects[FUNCTION][3] = pointer(fixture, SHARED);
	objects[SHARED][0] = pointer(fixture, MAP_OF_SHARED);
	objects[SHARED][2] = pointer(fixture, SCOPE);
	objects[SHARED][4] = pointer(fixture, SCRIPT);
	objects[SCOPE][0] = pointer(fixture, MAP_OF_SCOPES);
	objects[SCOPE][1] = small(FLAGS);
	objects[SCOPE][3] = small(1);
	objects[SCOPE][6] = pointer(fixture, NAME);
	objects[SCOPE][8] = pointer(fixture, GUESSED);
	objects[SCOPE][9] = small(15);
	objects[SCRIPT][0] = pointer(fixture, MAP_OF_SCRIPTS);
	objects[SCRIPT][1] = pointer(fixture, SOURCE);
	objects[SCRIPT][2] = pointer(fixture, FILE_NAME);
	objects[SCRIPT][7] = pointer(fixture, ODDBALL);
	objects[ODDBALL][0] = pointer(fixture, MAP_OF_ODDBALLS);
	put_text(fixture, NAME, "area");
	put_text(fixture, GUESSED, "Shape.area");
	put_text(fixture, FILE_NAME, "/srv/app.js");
	put_text(fixture, SOURCE, "one();\ntwo();\r\nfunction area(n) {\n}\n");
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->modules = module_table_new();
	fixture->space = space_new(fixture->modules, getpid());
	assert_int_equal(space_refresh(fixture->space, NULL), 0);
	fixture->names = v8_names_new(&layout);
	fixture->now_ms = 1;
	put_objects(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	v8_names_free(fixture->names);
	snapshot_release(&fixture->snapshot);
	space_free(fixture->space);
	module_table_free(fixture->modules);
	free(fixture);
	return 0;
}

/* A snapshot with both objects of the function as they are now. */
static void take_snapshot(struct fixture *fixture, uint64_t time_ms, enum region_kind kind)
{
	snapshot_clear(&fixture->snapshot);
	fixture->snapshot.time_ns = time_ms * 1000000;
	copy(&fixture->snapshot, fixture->objects[FUNCTION], v8_function_bytes(&v8), kind);
	copy(&fixture->snapshot, fixture->objects[SHARED], v8_shared_bytes(&v8), kind);
}

static struct script_place find(struct fixture *fixture)
{
	const struct script_frame frame = {.code = (uintptr_t)fixture->objects[FUNCTION]};
	struct script_place place;

	v8_names_find(fixture->names, &v8, fixture->space, &fixture->snapshot, &frame, 1, &place);
	return place;
}

static struct script_place place_at(struct fixture *fixture, uint64_t time_ms)
{
	take_snapshot(fixture, time_ms, REGION_WANTED);
	return find(fixture);
}

TEST_WITH(struct fixture *fixture, v8_names, have_file_and_line)
{
	struct script_place place = place_at(fixture, 1);

	assert_false(place.is_native);
	assert_string_equal(place.name, "area");
	assert_string_equal(place.file, "/srv/app.js");
	assert_int_equal(place.first_line, 3);
}

TEST_WITH(struct fixture *fixture, v8_names, function_without_a_name_has_the_guessed_one)
{
	put_text(fixture, NAME, "");
	assert_string_equal(place_at(fixture, 1).name, "Shape.area");
	fixture->objects[SHARED][2] = pointer(fixture, OTHER);
	memcpy(fixture->objects[OTHER], fixture->objects[SCOPE], sizeof(fixture->objects[SCOPE]));
	put_text(fixture, GUESSED, "");
	assert_string_equal(place_at(fixture, 2).name, "(anonymous)");
}

TEST_WITH(struct fixture *fixture, v8_names, module_is_of_its_first_line)
{
	fixture->objects[SCOPE][1] = small(3);
	put_text(fixture, FILE_NAME, "file:///srv/my%20app.mjs");
	assert_string_equal(place_at(fixture, 1).name, "(anonymous)");
	assert_string_equal(place_at(fixture, 2).file, "/srv/my app.mjs");
	assert_int_equal(place_at(fixture, 3).first_line, 1);
}

static uint32_t line_of(struct fixture *fixture, struct v8_lines *lines, uint32_t position)
{
	return v8_lines_of(lines, &layout, fixture->space, (uintptr_t)fixture->objects[SCRIPT],
			   position);
}

TEST_WITH(struct fixture *fixture, v8_lines, are_those_that_v8_has_found)
{
	struct v8_lines *lines = v8_lines_new();

	fixture->objects[SCRIPT][7] = pointer(fixture, OTHER);
	fixture->objects[OTHER][1] = small(3);
	fixture->objects[OTHER][2] = small(3);
	fixture->objects[OTHER][3] = small(14);
	fixture->objects[OTHER][4] = small(90);
	assert_int_equal(line_of(fixture, lines, 3), 1);
	assert_int_equal(line_of(fixture, lines, 14), 2);
	assert_int_equal(line_of(fixture, lines, 15), 3);
	v8_lines_free(lines);
}

/* Positions from the text: "one();", "two();\r\n", "function area(n) {", "}". */
TEST_WITH(struct fixture *fixture, v8_lines, are_counted_where_v8_has_not_found_them)
{
	static const struct {
		uint32_t position, line;
	} cases[] = {{0, 1}, {6, 1}, {7, 2}, {13, 2}, {14, 2}, {15, 3}, {32, 3}, {34, 4}};
	struct v8_lines *lines = v8_lines_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(line_of(fixture, lines, cases[i].position), cases[i].line);
	/* They are kept until the script has another source. */
	put_text(fixture, SOURCE, "\n\n\n");
	assert_int_equal(line_of(fixture, lines, 7), 2);
	fixture->objects[SCRIPT][1] = pointer(fixture, OTHER);
	put_text(fixture, OTHER, "\n\r\n\n");
	assert_int_equal(line_of(fixture, lines, 4), 4);
	v8_lines_free(lines);
}

/* The line of a frame that keeps this offset, a number of the first bytecode on. */
static uint32_t line_at(struct fixture *fixture, enum object bytecodes, uint64_t kept_offset)
{
	const struct script_frame frame = {.code = (uintptr_t)fixture->objects[FUNCTION],
					   .bytecodes = (uintptr_t)fixture->objects[bytecodes],
					   .instruction = kept_offset};
	struct script_place place;

	take_snapshot(fixture, 1, REGION_WANTED);
	v8_names_find(fixture->names, &v8, fixture->space, &fixture->snapshot, &frame, 1, &place);
	assert_false(place.is_native);
	assert_int_equal(place.first_line, 3);
	return place.line;
}

TEST_WITH(struct fixture *fixture, v8_names, interpreted_function_has_the_line_of_its_bytecode)
{
	assert_int_equal(find(fixture).line, 0);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 3);
	assert_int_equal(line_at(fixture, BYTECODES, 53 + 5), 3);
	assert_int_equal(line_at(fixture, BYTECODES, 53 + 6), 4);
	assert_int_equal(line_at(fixture, BYTECODES, 53 + 16), 4);
	/* None of its bytecodes. */
	assert_int_equal(line_at(fixture, BYTECODES, 52), 0);
	assert_int_equal(line_at(fixture, BYTECODES, 53 + 17), 0);
	assert_int_equal(line_at(fixture, BYTECODES, UINT32_MAX), 0);
}

/* The frame leads to bytecodes that its function does not run, or no longer runs. */
TEST_WITH(struct fixture *fixture, v8_names, bytecodes_of_no_function_have_no_line)
{
	memcpy(fixture->objects[OTHER], fixture->objects[BYTECODES], sizeof(*fixture->objects));
	assert_int_equal(line_at(fixture, OTHER, 53), 0);
	fixture->objects[SHARED][1] = pointer(fixture, OTHER);
	assert_int_equal(line_at(fixture, OTHER, 53), 3);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	/* V8 has compiled it. */
	fixture->objects[SHARED][1] = pointer(fixture, SCOPE);
	assert_int_equal(line_at(fixture, OTHER, 53 + 6), 0);
}

TEST_WITH(struct fixture *fixture, v8_names, table_that_is_none_has_no_line)
{
	uint64_t(*objects)[NR_WORDS] = fixture->objects;

	objects[BYTECODES][4] = pointer(fixture, SCOPE);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[BYTECODES][4] = small(7);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[BYTECODES][4] = pointer(fixture, POSITIONS);
	objects[POSITIONS][0] = pointer(fixture, MAP_OF_SCOPES);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[POSITIONS][0] = pointer(fixture, MAP_OF_BYTES);
	objects[POSITIONS][1] = small((1 << 16) + 1);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[POSITIONS][1] = small(0);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[POSITIONS][1] = small(sizeof(table_of_area));
	objects[BYTECODES][0] = pointer(fixture, MAP_OF_BYTES);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 0);
	objects[BYTECODES][0] = pointer(fixture, MAP_OF_BYTECODES);
	assert_int_equal(line_at(fixture, BYTECODES, 53), 3);
}

#define CODE_START UINT64_C(0x7e0000001000)

/* The baseline compiler has made code of the function: from byte 8 and from byte 12 on. */
static void put_code(struct fixture *fixture)
{
	static const uint8_t ends[] = {8, 4, 20};
	static const uint8_t bytecodes[] = {TWO, 0, WIDE, THREE, 0, 0, 0, 0};
	uint64_t(*objects)[NR_WORDS] = fixture->objects;

	put_map(fixture, MAP_OF_CODES, TYPE_CODE);
	objects[SHARED][1] = pointer(fixture, CODE);
	objects[BYTECODES][1] = small(sizeof(bytecodes));
	memcpy((uint8_t *)objects[BYTECODES] + layout.bytecodes_data, bytecodes, sizeof(bytecodes));
	objects[CODE][0] = pointer(fixture, MAP_OF_CODES);
	objects[CODE][2] = pointer(fixture, BYTECODES);
	objects[CODE][3] = pointer(fixture, ENDS);
	objects[CODE][5] = CODE_START;
	objects[CODE][6] = 0xffff00000000 | 0xb | 0x40;
	objects[CODE][7] = 40;
	objects[ENDS][0] = pointer(fixture, MAP_OF_BYTES);
	objects[ENDS][1] = small(sizeof(ends));
	memcpy(&objects[ENDS][2], ends, sizeof(ends));
}

/* The line of a frame of compiled code, at this byte of it. */
static uint32_t line_in_code(struct fixture *fixture, enum object bytecodes, uint64_t at)
{
	const struct script_frame frame = {.code = (uintptr_t)fixture->objects[FUNCTION],
					   .bytecodes = (uintptr_t)fixture->objects[bytecodes],
					   .is_compiled = true,
					   .instruction = CODE_START + at};
	struct script_place place;

	take_snapshot(fixture, fixture->now_ms, REGION_WANTED);
	v8_names_find(fixture->names, &v8, fixture->space, &fixture->snapshot, &frame, 1, &place);
	assert_false(place.is_native);
	return place.line;
}

static void put_names(struct fixture *fixture, const struct v8_layout *with)
{
	v8_names_free(fixture->names);
	fixture->names = v8_names_new(with);
}

TEST_WITH(struct fixture *fixture, v8_names, baseline_code_has_the_line_of_its_bytecode)
{
	const struct v8_layout with = layout_with_sizes();

	put_names(fixture, &with);
	put_code(fixture);
	assert_int_equal(line_in_code(fixture, BYTECODES, 7), 0);
	assert_int_equal(line_in_code(fixture, BYTECODES, 8), 3);
	assert_int_equal(line_in_code(fixture, BYTECODES, 11), 3);
	/* Its second bytecode is at offset 2, still of the same line. */
	assert_int_equal(line_in_code(fixture, BYTECODES, 12), 3);
	memcpy((uint8_t *)fixture->objects[POSITIONS] + 16, "\x01\x40\x02\x28\x02\x24", 6);
	assert_int_equal(line_in_code(fixture, BYTECODES, 12), 3); /* known by now */
	assert_int_equal(line_in_code(fixture, BYTECODES, 31), 4);
	assert_int_equal(line_in_code(fixture, BYTECODES, 32), 0);
	assert_int_equal(line_in_code(fixture, BYTECODES, 40), 0);
	assert_int_equal(line_in_code(fixture, BYTECODES, -1), 0);
	/* Its frame has none, or others: it runs other code. */
	assert_int_equal(line_in_code(fixture, OTHER, 8), 0);
	/* It is in another place by now. */
	fixture->objects[CODE][5] += 4;
	fixture->now_ms += 100;
	assert_int_equal(line_in_code(fixture, BYTECODES, 12), 3);
	assert_int_equal(line_in_code(fixture, BYTECODES, 15), 3);
	assert_int_equal(line_in_code(fixture, BYTECODES, 16), 4);
}

/* As V8 10.2 has it: the instructions are in the object. */
TEST_WITH(struct fixture *fixture, v8_names, baseline_code_may_be_within_its_object)
{
	struct v8_layout with = layout_with_sizes();

	with.code.inner_start = 128;
	with.code.size = 40;
	put_names(fixture, &with);
	put_code(fixture);
	fixture->objects[CODE][5] = 40;
	assert_int_equal(line_in_code(fixture, BYTECODES,
				      (uintptr_t)fixture->objects[CODE] + 128 + 8 - CODE_START),
			 3);
}

/* The line of its first bytecode, in code that V8 has made just now. */
static uint32_t line_later(struct fixture *fixture)
{
	fixture->objects[CODE][7]++; /* another size: it is none that is known */
	fixture->now_ms += 100;
	return line_in_code(fixture, BYTECODES, 8);
}

TEST_WITH(struct fixture *fixture, v8_names, code_that_is_none_of_the_baseline_has_no_line)
{
	const struct v8_layout with = layout_with_sizes();
	uint64_t(*objects)[NR_WORDS] = fixture->objects;

	put_names(fixture, &with);
	put_code(fixture);
	objects[CODE][6]++; /* of another kind */
	assert_int_equal(line_later(fixture), 0);
	objects[CODE][6]--;
	objects[CODE][0] = pointer(fixture, MAP_OF_SCOPES);
	assert_int_equal(line_later(fixture), 0);
	objects[CODE][0] = pointer(fixture, MAP_OF_CODES);
	objects[ENDS][0] = pointer(fixture, MAP_OF_SCOPES);
	assert_int_equal(line_later(fixture), 0);
	objects[ENDS][0] = pointer(fixture, MAP_OF_BYTES);
	objects[ENDS][1] = small((1 << 16) + 1);
	assert_int_equal(line_later(fixture), 0);
	objects[ENDS][1] = small(3);
	objects[BYTECODES][0] = pointer(fixture, MAP_OF_SCOPES);
	assert_int_equal(line_later(fixture), 0);
	objects[BYTECODES][0] = pointer(fixture, MAP_OF_BYTECODES);
	objects[SHARED][1] = pointer(fixture, BYTECODES);
	assert_int_equal(line_later(fixture), 0);
	objects[SHARED][1] = pointer(fixture, CODE);
	assert_int_equal(line_later(fixture), 3);
}

/* The native frame of a builtin function says more. */
TEST_WITH(struct fixture *fixture, v8_names, builtin_function_is_native)
{
	fixture->objects[SHARED][4] = pointer(fixture, ODDBALL);
	assert_true(place_at(fixture, 1).is_native);
}

TEST_WITH(struct fixture *fixture, v8_names, object_that_is_no_function_is_native)
{
	fixture->objects[FUNCTION][0] = pointer(fixture, MAP_OF_SCOPES);
	assert_true(place_at(fixture, 1).is_native);
	/* Nor is one whose map is none. */
	fixture->objects[FUNCTION][0] = pointer(fixture, OTHER);
	assert_true(place_at(fixture, 2).is_native);
}

/* The object of the stop had another scope: what is there by now is another function. */
TEST_WITH(struct fixture *fixture, v8_names, function_that_was_replaced_after_the_stop_is_native)
{
	take_snapshot(fixture, 1, REGION_WANTED);
	fixture->objects[SHARED][2] = pointer(fixture, OTHER);
	assert_true(find(fixture).is_native);
}

TEST_WITH(struct fixture *fixture, v8_names, another_function_in_the_same_place_has_its_own_name)
{
	assert_string_equal(place_at(fixture, 1).name, "area");
	memcpy(fixture->objects[OTHER], fixture->objects[SCOPE], sizeof(fixture->objects[SCOPE]));
	fixture->objects[SHARED][2] = pointer(fixture, OTHER);
	put_text(fixture, NAME, "volume");
	assert_string_equal(place_at(fixture, 2).name, "volume");
}

/* Copied after the stop it may be another one: unless it is the one that has been there for long.
 */
TEST_WITH(struct fixture *fixture, v8_names, late_copy_counts_if_the_object_is_known)
{
	take_snapshot(fixture, 1, REGION_LATE);
	assert_true(find(fixture).is_native);
	for (uint64_t ms = 10; ms <= 400; ms += 10)
		place_at(fixture, ms);
	assert_true(v8_names_is_steady(fixture->names, (uintptr_t)fixture->objects[FUNCTION]));
	assert_true(v8_names_is_steady(fixture->names, (uintptr_t)fixture->objects[SHARED]));
	take_snapshot(fixture, 410, REGION_LATE);
	assert_string_equal(find(fixture).name, "area");
	fixture->objects[SHARED][2] = pointer(fixture, OTHER);
	take_snapshot(fixture, 420, REGION_LATE);
	assert_true(find(fixture).is_native);
}

/* A text may be made of others. */
TEST_WITH(struct fixture *fixture, v8_names, texts_have_any_shape)
{
	uint64_t *other = fixture->objects[OTHER];
	static const struct {
		uint16_t type;
		uint32_t length;
		const char *expected;
	} cases[] = {{TYPE_THIN, 4, "area"},	   {TYPE_CONS, 4, "area"}, {TYPE_SLICED, 2, "re"},
		     {TYPE_EXTERNAL, 4, "tail"},   {TYPE_SLICED, 9, NULL}, {TYPE_ODDBALL, 4, NULL},
		     {TYPE_EXTERNAL + 16, 4, NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text;

		put_map(fixture, MAP_OF_OTHER_TEXTS, cases[i].type);
		put_text(fixture, GUESSED, "");
		other[0] = pointer(fixture, MAP_OF_OTHER_TEXTS);
		memcpy((uint8_t *)other + layout.text.length, &cases[i].length,
		       sizeof(cases[i].length));
		other[2] = pointer(fixture, NAME);
		other[3] = small(1);
		if (cases[i].type == TYPE_CONS)
			other[3] = pointer(fixture, GUESSED);
		if ((cases[i].type & layout.text.shape_mask) == layout.text.external)
			other[3] = (uintptr_t) "tail";
		text = v8_text_read(&layout, fixture->space, pointer(fixture, OTHER));
		if (cases[i].expected)
			assert_string_equal(text, cases[i].expected);
		else
			assert_null(text);
		free(text);
	}
}

/* "Shape", "." and "area", as a tree that is deeper on its left. */
TEST_WITH(struct fixture *fixture, v8_names, texts_are_put_together)
{
	static const enum object inner = GUESSED, outer = OTHER;
	const uint32_t length = 10;
	char *text;

	put_map(fixture, MAP_OF_OTHER_TEXTS, TYPE_CONS);
	put_text(fixture, FILE_NAME, "Shape");
	put_text(fixture, SOURCE, ".");
	memset(fixture->objects[inner], 0, sizeof(fixture->objects[inner]));
	for (int i = 0; i < 2; i++) {
		uint64_t *object = fixture->objects[i ? outer : inner];

		object[0] = pointer(fixture, MAP_OF_OTHER_TEXTS);
		memcpy((uint8_t *)object + layout.text.length, &length, sizeof(length));
		object[2] = pointer(fixture, i ? inner : FILE_NAME);
		object[3] = pointer(fixture, i ? NAME : SOURCE);
	}
	text = v8_text_read(&layout, fixture->space, pointer(fixture, outer));
	assert_string_equal(text, "Shape.area");
	free(text);
	/* In a circle there is none. */
	fixture->objects[inner][2] = pointer(fixture, outer);
	assert_null(v8_text_read(&layout, fixture->space, pointer(fixture, outer)));
}

/* A pair of halves is one character; half of one is none. */
TEST_WITH(struct fixture *fixture, v8_names, wide_texts_are_utf8)
{
	static const uint16_t wide[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd800};
	const uint32_t length = ARRAY_SIZE(wide);
	char *text;

	put_map(fixture, MAP_OF_OTHER_TEXTS, TYPE_WIDE + 0x20);
	fixture->objects[OTHER][0] = pointer(fixture, MAP_OF_OTHER_TEXTS);
	memcpy((uint8_t *)fixture->objects[OTHER] + layout.text.length, &length, sizeof(length));
	memcpy((uint8_t *)fixture->objects[OTHER] + layout.text.characters, wide, sizeof(wide));
	text = v8_text_read(&layout, fixture->space, pointer(fixture, OTHER));
	assert_string_equal(text, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd");
	free(text);
}

/* The objects lead in a circle, and everywhere else. */
TEST_WITH(struct fixture *fixture, v8_names, any_objects_end)
{
	uint64_t random = 11;

	for (uint64_t i = 0; i < 3000; i++) {
		put_objects(fixture);
		for (int k = 0; k < 4; k++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			fixture->objects[(random >> 33) % NR_OBJECTS][(random >> 45) % 10] =
				k % 2 ? pointer(fixture, (random >> 50) % NR_OBJECTS) : random;
		}
		place_at(fixture, i);
		if (!find(fixture).is_native) {
			const struct script_frame frame = {
				.code = (uintptr_t)fixture->objects[FUNCTION],
				.bytecodes = (uintptr_t)fixture->objects[BYTECODES],
				.instruction = 53 + random % 16};
			struct script_place place;

			v8_names_find(fixture->names, &v8, fixture->space, &fixture->snapshot,
				      &frame, 1, &place);
		}
	}
}
