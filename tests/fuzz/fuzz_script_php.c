// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a PHP program that means no good: the addresses of its globals and of the class of
 * generators, a byte for the number of native frames, and of each its frame, its instruction, the
 * entry of its function and a byte with what is known of it; and a saved snapshot, of which the
 * first region is the native stack.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/php.h"
#include "script/php_names.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/fuzz/script_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NATIVES_MAX 64

struct input {
	struct php php;
	struct php_native natives[NATIVES_MAX];
	size_t nr_natives;
	struct snapshot snapshot;
};

static bool read_input(struct input *input, struct cursor *in)
{
	struct err err = ERR_INIT;

	input->php = (struct php){.layout = php_layout_of("8.2")};
	input->php.globals = cursor_u64(in);
	input->php.generator_class = cursor_u64(in);
	input->nr_natives = cursor_byte(in) % (NATIVES_MAX + 1);
	for (size_t i = 0; i < input->nr_natives; i++) {
		struct php_native *native = &input->natives[i];
		uint8_t known;

		native->frame = cursor_u64(in);
		native->opline = cursor_u64(in);
		native->entry = cursor_u64(in);
		known = cursor_byte(in);
		native->is_loop = known & 1;
		native->has_frame = known & 2;
		native->has_opline = known & 4;
	}
	if (snapshot_load(&input->snapshot, in, &err) != 0)
		return false;
	for (unsigned int i = 1; i < input->snapshot.nr_regions; i++)
		input->snapshot.regions[i].kind = REGION_WANTED;
	return true;
}

static void check(const struct input *input, const struct script_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++) {
		const struct script_frame *frame = &walk->frames[i];
		uint8_t function[PHP_FUNCTION_BYTES_MAX];

		assert(php_functions_read(NULL, input->php.layout, &input->snapshot, frame->code,
					  function));
		assert(php_is_function(function));
		assert(function[0] == PHP_FUNCTION_NATIVE || input->natives[frame->native].is_loop);
	}
}

/* The process does not exist: only the snapshot has memory. */
static void name(const struct input *input, const struct script_walk *walk)
{
	struct script_place *places = xcalloc(walk->nr_frames + 1, sizeof(*places));
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, INT_MAX);
	struct php_names *names = php_names_new();

	for (int i = 0; i < 2; i++)
		php_names_find(names, &input->php, space, &input->snapshot, walk->frames,
			       walk->nr_frames, places);
	for (size_t i = 0; i < walk->nr_frames; i++)
		assert(!places[i].name || (*places[i].name && *places[i].file));
	php_names_free(names);
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

		php_find_missing(&input->php, &input->snapshot, &missing);
		check_wanted(&missing);
		check_walk(php_walk(&input->php, &input->snapshot, input->natives,
				    input->nr_natives, &walk),
			   &walk, input->nr_natives);
		check(input, &walk);
		name(input, &walk);
	}
	script_walk_release(&walk);
	snapshot_release(&input->snapshot);
	free(input);
	return 0;
}
