// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds Perl in a process, and the interpreters of its threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "script/perl.h"
#include "script/perl_layout.h"
#include "script/perl_links.h"
#include "script/perl_names.h"
#include "script/perl_walk.h"
#include "script/runtime_priv.h"
#include "script/thread_keys.h"
#include "snapshot/snapshot.h"

enum {
	/* In the order of enum perl_function. */
	EXPORT_REVISION = NR_PERL_FUNCTIONS,
	EXPORT_VERSION,
	EXPORT_BYTES,
	NR_EXPORTS_WITHOUT_THREADS,
	EXPORT_KEY = NR_EXPORTS_WITHOUT_THREADS,
	EXPORT_FIRST,
	NR_EXPORTS,
};

_Static_assert(NR_EXPORTS <= SCRIPT_EXPORTS_MAX, "room for the addresses");
_Static_assert(sizeof(struct perl) <= WANTED_FACTS_BYTES, "room for a copy");

struct engine {
	struct perl perl; /* first: the walk needs only this */
	uint64_t key_at;
	struct perl_names *names;
};

static bool find_code(const struct script_module *module, struct perl *perl)
{
	for (int i = 0; i < NR_PERL_FUNCTIONS; i++) {
		uint64_t entry = module->exports[i] - module->bias;
		struct perl_code *code = &perl->code[i];

		if (!elf_image_function(module->image, entry, &code->start, &code->end) ||
		    code->start != entry)
			return false;
	}
	return true;
}

/* NULL: it has no layout that is known. */
static const struct perl_layout *find_layout(struct space *space,
					     const struct script_module *module,
					     struct script_found *found)
{
	uint8_t revision, version;
	uint16_t nr_bytes;
	const struct perl_layout *layout;

	/* A process that has just ended has no memory: it is no Perl of an unknown version. */
	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION, .is_early = true};
	if (!space_read_memory(space, module->exports[EXPORT_REVISION], &revision, 1) ||
	    !space_read_memory(space, module->exports[EXPORT_VERSION], &version, 1) ||
	    !space_read_memory(space, module->exports[EXPORT_BYTES], &nr_bytes, sizeof(nr_bytes)))
		return NULL;
	found->is_early = false;
	snprintf(found->version, sizeof(found->version), "%u.%u", revision, version);
	layout = perl_layout_of(arch_native(), revision, version);
	if (layout)
		found->support = SCRIPT_OTHER_LAYOUT;
	return layout && layout->interpreter.nr_bytes == nr_bytes ? layout : NULL;
}

static void *recognise(struct space *space, const struct script_module *module,
		       struct script_found *found)
{
	struct perl perl = {.layout = find_layout(space, module, found),
			    .runops = module->exports[PERL_RUNOPS],
			    .first_address = module->exports[EXPORT_FIRST]};
	struct engine *engine;

	if (!perl.layout || !find_code(module, &perl) || !thread_keys_find(space, &perl.keys))
		return NULL;
	engine = xcalloc(1, sizeof(*engine));
	engine->perl = perl;
	engine->key_at = module->exports[EXPORT_KEY];
	engine->names = perl_names_new(perl.layout);
	found->support = SCRIPT_READ;
	return engine;
}

/* Its interpreter is no object, but variables. */
static void *recognise_without_threads(struct space *space, const struct script_module *module,
				       struct script_found *found)
{
	find_layout(space, module, found);
	return NULL;
}

static void forget(void *facts)
{
	struct engine *engine = facts;

	perl_names_free(engine->names);
	free(engine);
}

static bool read_now(void *space, uint64_t at, void *out, size_t nr_bytes)
{
	return space_read_memory(space, at, out, nr_bytes);
}

/* Perl may have had no key yet when it was recognised. */
static bool read_key(struct engine *engine, struct space *space)
{
	uint32_t key;

	if (!space_read_memory(space, engine->key_at, &key, sizeof(key)) || key >= PERL_KEYS_MAX)
		return false;
	engine->perl.key = key;
	return true;
}

static bool find_links(void *facts, struct space *space, struct frame_links *links)
{
	struct engine *engine = facts;
	uint64_t first;

	if (!read_key(engine, space) ||
	    !space_read_memory(space, engine->perl.first_address, &first, sizeof(first)) || !first)
		return false;
	perl_find_links(&engine->perl, engine->key_at, links);
	return true;
}

static uint64_t find_thread(void *facts, struct space *space, const struct snapshot *snapshot)
{
	struct engine *engine = facts;

	return read_key(engine, space) ? perl_find_thread(&engine->perl, snapshot, read_now, space)
				       : 0;
}

static enum script_outcome walk(const void *facts, const uint64_t *states, size_t nr_states,
				const struct snapshot *snapshot,
				const struct script_native *natives, size_t nr_natives,
				struct script_walk *out)
{
	const struct engine *engine = facts;

	(void)nr_states;
	return perl_walk(&engine->perl, states[0], snapshot, natives, nr_natives, out);
}

/* The facts are a copy of the first member of struct engine. */
static bool find_missing(const void *facts, uint64_t thread_state, const struct snapshot *snapshot,
			 struct wanted_memory *missing)
{
	return perl_find_missing(facts, thread_state, snapshot, missing);
}

static void complete_wanted(const void *facts, struct wanted_memory *wanted)
{
	const struct engine *engine = facts;

	for (size_t i = 0; i < wanted->nr; i++)
		wanted->at[i].is_late = perl_names_is_steady(engine->names, wanted->at[i].start,
							     wanted->at[i].nr_bytes);
}

static void find_places(void *facts, struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	struct engine *engine = facts;

	perl_names_find(engine->names, space, snapshot, frames, nr, places);
}

#define EXPORTS                                                                                    \
	[PERL_RUNOPS] = "Perl_runops_standard", [PERL_RUN] = "perl_run",                           \
	[PERL_CALL_SV] = "Perl_call_sv", [PERL_AMAGIC] = "Perl_amagic_call",                       \
	[PERL_ENTERSUB] = "Perl_pp_entersub", [PERL_LEAVESUB] = "Perl_pp_leavesub",                \
	[PERL_LEAVESUBLV] = "Perl_pp_leavesublv", [PERL_RETURN] = "Perl_pp_return",                \
	[EXPORT_REVISION] = "PL_revision", [EXPORT_VERSION] = "PL_version",                        \
	[EXPORT_BYTES] = "PL_interp_size"

const struct script_runtime perl_runtime = {
	.name = "Perl",
	.exports = {EXPORTS, [EXPORT_KEY] = "PL_thr_key", [EXPORT_FIRST] = "PL_curinterp"},
	.nr_exports = NR_EXPORTS,
	.recognise = recognise,
	.forget = forget,
	.find_thread = find_thread,
	.walk = walk,
	.nr_fact_bytes = sizeof(struct perl),
	.missing = {.find = find_missing, .leads_to_late = true},
	/*
	 * Another program may free its interpreter and go on: the key still leads there. perl does
	 * that last of all.
	 */
	.links = {.find = find_links, .of_program_alone = true},
	.complete_wanted = complete_wanted,
	.find_places = find_places,
};

/* Builds without threads: their frames are not read. */
const struct script_runtime perl_plain_runtime = {
	.name = "Perl",
	.exports = {EXPORTS},
	.nr_exports = NR_EXPORTS_WITHOUT_THREADS,
	.recognise = recognise_without_threads,
};
