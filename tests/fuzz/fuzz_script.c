// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a Python program that means no good: a byte for the version, then the address of the
 * thread state, where its lists of threads begin as well, a byte for the number of native frames
 * and the stack pointer of each, and a saved snapshot. The line table of a code object is any
 * bytes: those of the whole input.
 */
#include <assert.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/err.h"
#include "script/cpython.h"
#include "script/cpython_line.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/fuzz/script_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NATIVES_MAX    48
#define CODE_TYPE      UINT64_C(0x555500009000)
#define GENERATOR_TYPE UINT64_C(0x555500009400)

#define FRAME_TYPE UINT64_C(0x555500009800)

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
	input->python.code_type = CODE_TYPE;
	input->python.generator_types[0] = GENERATOR_TYPE;
	input->python.frame_type = FRAME_TYPE;
	input->python.evaluator[0] = (struct script_code_range){1, 2};
	input->thread_state = input->python.runtime = cursor_u64(in);
	input->states[0] = input->thread_state;
	input->states[1] = input->thread_state + input->python.layout.thread.next;
	input->nr_natives = cursor_byte(in) % (NATIVES_MAX + 1);
	for (size_t i = 0; i < input->nr_natives; i++)
		input->natives[i] = (struct script_native){
			.sp = cursor_u64(in), .address = i % 2, .is_interpreter = i % 4 != 0};
	return snapshot_load(&input->snapshot, in, &err) == 0;
}

static void check(const struct input *input, const struct script_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++)
		assert(input->natives[walk->frames[i].native].is_interpreter);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct cursor in = cursor_over(bytes, nr_bytes);
	struct input input = {.nr_natives = 0};
	struct script_walk walk = {0};

	for (int lines = CPYTHON_LINES_BY_STEP; lines <= CPYTHON_LINES_BY_ENTRY; lines++) {
		for (int64_t unit = -1; unit < 4; unit++)
			(void)cpython_line((enum cpython_lines)lines, bytes, nr_bytes, UINT32_MAX,
					   unit * 40);
	}
	if (read_input(&input, &in)) {
		struct wanted_memory missing = {.nr = 0};

		cpython_find_missing(&input.python, input.thread_state, &input.snapshot, &missing);
		check_wanted(&missing);
		cpython_find_missing(&input.python, 0, &input.snapshot, &missing);
		check_wanted(&missing);
		check_walk(cpython_walk(&input.python, input.states, 2, &input.snapshot,
					input.natives, input.nr_natives, &walk),
			   &walk, input.nr_natives);
		check(&input, &walk);
	}
	script_walk_release(&walk);
	snapshot_release(&input.snapshot);
	return 0;
}
