// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a Perl program that means no good: the address of the interpreter, that of the function
 * that runs operations, a byte for the number of native frames, for each its stack pointer and a
 * byte for its function (enum perl_function; more: another), and a saved snapshot.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/perl.h"
#include "script/perl_layout.h"
#include "script/perl_names.h"
#include "script/perl_walk.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "tests/fuzz/script_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NATIVES_MAX 48

struct input {
	struct perl perl;
	uint64_t interpreter;
	struct script_native natives[NATIVES_MAX];
	size_t nr_natives;
	struct snapshot snapshot;
};

static bool read_input(struct input *input, struct cursor *in)
{
	struct err err = ERR_INIT;

	input->perl.layout = perl_layout_of(ARCH_X86_64, 5, 36);
	for (unsigned int i = 0; i < NR_PERL_FUNCTIONS; i++)
		input->perl.code[i] = (struct perl_code){i, i + 1};
	input->interpreter = cursor_u64(in);
	input->perl.runops = cursor_u64(in);
	input->nr_natives = cursor_byte(in) % (NATIVES_MAX + 1);
	for (size_t i = 0; i < input->nr_natives; i++) {
		input->natives[i].sp = cursor_u64(in);
		input->natives[i].address = cursor_byte(in);
		input->natives[i].is_interpreter = true;
	}
	return snapshot_load(&input->snapshot, in, &err) == 0;
}

static void check(const struct input *input, const struct script_walk *walk)
{
	for (size_t i = 0; i < walk->nr_frames; i++)
		assert(input->natives[walk->frames[i].native].address == PERL_RUNOPS);
}

/* The process does not exist: only the snapshot has memory. */
static void name(const struct input *input, const struct script_walk *walk)
{
	struct script_place *places = xcalloc(walk->nr_frames + 1, sizeof(*places));
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, INT_MAX);
	struct perl_names *names = perl_names_new(input->perl.layout);

	for (int i = 0; i < 2; i++)
		perl_names_find(names, space, &input->snapshot, walk->frames, walk->nr_frames,
				places);
	for (size_t i = 0; i < walk->nr_frames; i++)
		assert(!places[i].name || (*places[i].name && places[i].file));
	perl_names_free(names);
	space_free(space);
	module_table_free(modules);
	free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct cursor in = cursor_over(bytes, nr_bytes);
	struct input input = {.nr_natives = 0};
	struct script_walk walk = {0};

	if (read_input(&input, &in)) {
		struct wanted_memory missing = {.nr = 0};

		perl_find_missing(&input.perl, input.interpreter, &input.snapshot, &missing);
		check_wanted(&missing);
		check_walk(perl_walk(&input.perl, input.interpreter, &input.snapshot, input.natives,
				     input.nr_natives, &walk),
			   &walk, input.nr_natives);
		check(&input, &walk);
		name(&input, &walk);
	}
	script_walk_release(&walk);
	snapshot_release(&input.snapshot);
	return 0;
}
