// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a program that V8 runs and that means no good: the bounds of its builtin functions and
 * of its code, the bias of that, the sizes of its bytecodes; a byte for the number of native frames
 * and of each the stack pointer, the address and a byte with what is known of it; and a saved
 * snapshot, of which the first region is the native stack. Others are put where they were, as far
 * as that memory is free, so that names and lines are read from them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/v8.h"
#include "script/v8_layout.h"
#include "script/v8_names.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/fuzz/script_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NATIVES_MAX 96
#define PAGES_MAX   512 /* of other memory */
/* They are mapped as larger ones, of which there are fewer. */
#define PAGE_BYTES (UINT64_C(1) << 18)

/* As Node.js 20 exports it. */
static const struct v8 node_20 = {.fp_function = -16,
				  .fp_context = -8,
				  .fp_bytecodes = -32,
				  .fp_offset = -40,
				  .exit_mark = 6,
				  .builtin_exit_mark = 50,
				  .shared = 24,
				  .scope = 16,
				  .script = 32};
static const struct v8_layout layout_20 = {.code = {.start = 40,
						    .size = 56,
						    .flags = 48,
						    .kind_mask = 15,
						    .kind_baseline = 11,
						    .type = 245},
					   .text = {.length = 12,
						    .characters = 16,
						    .thin_actual = 16,
						    .cons_first = 16,
						    .cons_second = 24,
						    .sliced_parent = 16,
						    .sliced_offset = 24,
						    .external_characters = 24,
						    .shape_mask = 7,
						    .sequential = 0,
						    .cons = 1,
						    .sliced = 3,
						    .thin = 5,
						    .external = 2,
						    .width_mask = 8,
						    .one_byte = 8,
						    .end = 128},
					   .map_type = 12,
					   .script_name = 16,
					   .script_source = 8,
					   .script_line_ends = 56,
					   .shared_code = 8,
					   .bytecodes_data = 54,
					   .type_function = 2066,
					   .type_shared = 262,
					   .type_scope = 261,
					   .type_script = 167,
					   .type_map = 255,
					   .type_bytecodes = 191,
					   .type_bytes = 190};

struct input {
	struct v8 v8;
	struct v8_layout layout;
	struct script_native natives[NATIVES_MAX];
	size_t nr_natives;
	struct snapshot snapshot;
	uint64_t pages[PAGES_MAX]; /* that were mapped */
	size_t nr_pages;
};

static bool read_input(struct input *input, struct cursor *in)
{
	struct err err = ERR_INIT;
	const uint8_t *sizes;

	input->v8 = node_20;
	input->layout = layout_20;
	input->v8.builtins_start = cursor_u64(in);
	input->v8.builtins_end = cursor_u64(in);
	input->v8.code_start = cursor_u64(in);
	input->v8.code_end = cursor_u64(in);
	input->v8.bias = cursor_u64(in);
	sizes = cursor_bytes(in, sizeof(input->layout.bytecode_sizes));
	if (!sizes)
		return false;
	memcpy(input->layout.bytecode_sizes, sizes, sizeof(input->layout.bytecode_sizes));
	input->nr_natives = cursor_byte(in) % (NATIVES_MAX + 1);
	for (size_t i = 0; i < input->nr_natives; i++) {
		uint8_t known;

		input->natives[i].sp = cursor_u64(in);
		input->natives[i].address = cursor_u64(in);
		known = cursor_byte(in);
		input->natives[i].is_interpreter = known & 1;
		input->natives[i].is_generated = known & 2;
	}
	if (snapshot_load(&input->snapshot, in, &err) != 0)
		return false;
	for (unsigned int i = 1; i < input->snapshot.nr_regions; i++)
		input->snapshot.regions[i].kind = REGION_WANTED;
	return true;
}

/* --- memory --- */

static bool is_mapped(const struct input *input, uint64_t page)
{
	for (size_t i = 0; i < input->nr_pages; i++) {
		if (input->pages[i] == page)
			return true;
	}
	return false;
}

/* False: something else is there. */
static bool map_page(struct input *input, uint64_t page)
{
	void *at;

	if (is_mapped(input, page))
		return true;
	if (input->nr_pages == PAGES_MAX)
		return false;
	at = mmap((void *)(uintptr_t)page, PAGE_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	assert((uintptr_t)at == page);
	input->pages[input->nr_pages++] = page;
	return true;
}

static void put_region(struct input *input, const struct stack_region *region)
{
	const uint8_t *bytes = input->snapshot.bytes + region->offset;
	uint64_t at = region->start, end = region->start + region->nr_bytes;

	while (at < end) {
		uint64_t page = at - at % PAGE_BYTES, next = page + PAGE_BYTES;
		size_t nr = (size_t)((next < end ? next : end) - at);

		if (!map_page(input, page))
			return;
		memcpy((void *)(uintptr_t)at, bytes + (at - region->start), nr);
		at += nr;
	}
}

static void put_memory(struct input *input)
{
	for (unsigned int i = 1; i < input->snapshot.nr_regions; i++)
		put_region(input, &input->snapshot.regions[i]);
}

static void take_memory_away(struct input *input)
{
	for (size_t i = 0; i < input->nr_pages; i++)
		munmap((void *)(uintptr_t)input->pages[i], PAGE_BYTES);
}

/* --- claims --- */

/* What a walk gives is in the frame of the native one, as any reader of that finds it. */
static void check(const struct input *input, const struct script_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		const struct script_frame *frame = &walk->frames[i];
		const struct script_native *native = &input->natives[frame->native];
		uint64_t fp = native[1].sp - 2 * sizeof(uint64_t), word;

		assert(native->is_generated || native->is_interpreter);
		assert(snapshot_read(&input->snapshot,
				     fp + (uint64_t)(int64_t)input->v8.fp_function, &word,
				     sizeof(word)));
		assert(v8_object(word) == frame->code);
	}
}

static void name(const struct input *input, const struct script_walk *walk)
{
	struct script_place *places = xcalloc(walk->nr_frames + 1, sizeof(*places));
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct v8_names *names = v8_names_new(&input->layout);

	for (int i = 0; i < 2; i++)
		v8_names_find(names, &input->v8, space, &input->snapshot, walk->frames,
			      walk->nr_frames, places);
	for (size_t i = 0; i < walk->nr_frames; i++) {
		assert(places[i].is_native == !places[i].name);
		assert(!places[i].name || (*places[i].name && *places[i].file));
	}
	v8_names_free(names);
	space_free(space);
	module_table_free(modules);
	free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct cursor in = cursor_over(bytes, nr_bytes);
	struct input *input = xcalloc(1, sizeof(*input));
	struct script_walk walk = {0};

	if (read_input(input, &in)) {
		struct wanted_memory missing = {.nr = 0};
		enum script_outcome outcome;

		put_memory(input);
		v8_find_missing(&input->v8, &input->snapshot, &missing);
		check_wanted(&missing);
		outcome = v8_walk(&input->v8, &input->snapshot, input->natives, input->nr_natives,
				  &walk);
		/* Each function is proved for itself. */
		assert(outcome == SCRIPT_PROVED || outcome == SCRIPT_NOT_COPIED);
		check_walk(SCRIPT_PROVED, &walk, input->nr_natives);
		check(input, &walk);
		name(input, &walk);
		take_memory_away(input);
	}
	script_walk_release(&walk);
	snapshot_release(&input->snapshot);
	free(input);
	return 0;
}
