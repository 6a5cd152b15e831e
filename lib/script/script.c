// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the interpreter of a process, and walks its frames. */
#include "script/script.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "elf/elf_image.h"
#include "mapping/linked.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "proc/target_memory.h"
#include "script/runtime_priv.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind.h"

static const struct script_runtime *const runtimes[] = {
	&cpython_runtime, &cpython_objects_runtime, &cpython_old_runtime, &v8_runtime,
	&php_runtime,	  &php_other_runtime,	    &perl_runtime,	  &perl_plain_runtime};

/* On other processors their frames are not read, as their registers are not known. */
static const struct script_runtime *const of_x86_64[] = {&v8_runtime, &php_runtime,
							 &php_other_runtime};

/* A module, and which interpreter it is. */
struct known_module {
	bool is_known, is_generated;
	const struct script_runtime *runtime; /* NULL: it is of none */
	struct elf_image *image;	      /* its file, borrowed; NULL: it has none */
	uint64_t exports[SCRIPT_EXPORTS_MAX]; /* addresses in its file */
};

struct script_modules {
	struct known_module *at; /* owned; by module_id */
	size_t nr, cap;
};

struct script_process {
	struct script_modules *modules;
	struct space *space;
	const struct script_runtime *runtime; /* NULL: none was found so far */
	struct module_id module;	      /* with the interpreter's code */
	uint64_t bias;			      /* of that */
	void *facts;		       /* owned by the runtime; NULL: it is not known well enough */
	struct script_found found;     /* of the runtime */
	struct script_native *natives; /* owned: room for a walk */
	size_t cap_natives;
	struct script_place *places; /* likewise */
	size_t cap_places;
	bool has_lock;
	struct script_lock lock;
	int nr_lock_tries;
	uint64_t lock_again_ns; /* CLOCK_MONOTONIC; not before */
};

struct script_modules *script_modules_new(void)
{
	return xcalloc(1, sizeof(struct script_modules));
}

void script_modules_free(struct script_modules *modules)
{
	if (!modules)
		return;
	free(modules->at);
	free(modules);
}

struct script_process *script_process_new(struct script_modules *modules, struct space *space)
{
	struct script_process *process = xcalloc(1, sizeof(*process));

	process->modules = modules;
	process->space = space;
	return process;
}

void script_process_free(struct script_process *process)
{
	if (!process)
		return;
	if (process->facts)
		process->runtime->forget(process->facts);
	free(process->natives);
	free(process->places);
	free(process);
}

const char *script_process_runtime(const struct script_process *process)
{
	return process->runtime ? process->runtime->name : NULL;
}

const char *script_process_version(const struct script_process *process)
{
	return process->runtime ? process->found.version : NULL;
}

enum script_support script_process_support(const struct script_process *process)
{
	return process->found.support;
}

bool script_process_has_own_code(const struct script_process *process)
{
	return process->runtime && process->runtime->has_own_code;
}

const char *script_process_problem(const struct script_process *process)
{
	return !process->runtime || process->found.support == SCRIPT_READ
		       ? NULL
		       : script_support_name(process->found.support);
}

/* --- which module has an interpreter --- */

static struct known_module *row_of(struct script_modules *modules, struct module_id id)
{
	ARRAY_RESERVE(modules->at, (size_t)id.v + 1, modules->cap);
	for (; modules->nr <= id.v; modules->nr++)
		modules->at[modules->nr] = (struct known_module){.is_known = false};
	return &modules->at[id.v];
}

/* Nearly all modules export none of the first names, which are looked for at once. */
static void look_at(struct known_module *known, struct elf_image *image)
{
	const char *first[ARRAY_SIZE(runtimes)];
	uint64_t at[ARRAY_SIZE(runtimes)];

	known->is_known = true;
	known->image = image;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		first[i] = runtimes[i]->exports[0];
	if (!image || !elf_image_exports(image, first, ARRAY_SIZE(first), at))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		const struct script_runtime *runtime = runtimes[i];

		if (at[i] && elf_image_exports(image, runtime->exports, runtime->nr_exports,
					       known->exports) == runtime->nr_exports) {
			known->runtime = runtime;
			return;
		}
	}
}

static struct elf_image *image_of(struct script_process *process, const struct mapping *mapping)
{
	return space_module(process->space, mapping)->kind == MODULE_KIND_FILE
		       ? space_image(process->space, mapping)
		       : NULL;
}

static const struct known_module *module_at(struct script_process *process,
					    const struct unwind_frame *frame)
{
	struct known_module *known = row_of(process->modules, frame->lookup.module);
	const struct mapping *mapping;

	if (known->is_known)
		return known;
	mapping = space_find(process->space, frame->pc);
	if (mapping && mapping->module.v == frame->lookup.module.v) {
		look_at(known, image_of(process, mapping));
		known->is_generated =
			space_module(process->space, mapping)->kind == MODULE_KIND_JIT;
	}
	return known;
}

static bool is_of_this_processor(const struct script_runtime *runtime)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_x86_64); i++) {
		if (runtime == of_x86_64[i])
			return arch_native() == ARCH_X86_64;
	}
	return true;
}

bool script_is_read_here(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (strcmp(runtimes[i]->name, name) == 0)
			return is_of_this_processor(runtimes[i]);
	}
	return false;
}

static void recognise(struct script_process *process, const struct known_module *known,
		      const struct mapping *mapping)
{
	struct script_module module;

	for (size_t i = 0; i < known->runtime->nr_exports; i++)
		module.exports[i] = known->exports[i] + mapping->bias;
	module.path = space_module(process->space, mapping)->path;
	module.image = image_of(process, mapping);
	module.bias = mapping->bias;
	process->runtime = known->runtime;
	process->module = mapping->module;
	process->bias = mapping->bias;
	process->found = (struct script_found){.support = SCRIPT_OTHER_PROCESSOR};
	if (is_of_this_processor(known->runtime))
		process->facts =
			process->runtime->recognise(process->space, &module, &process->found);
	if (process->found.is_early)
		process->runtime = NULL;
}

static void look_for_interpreter(struct script_process *process, const struct unwind_walk *natives)
{
	uint32_t last = MODULE_UNKNOWN.v;

	for (size_t i = 0; i < natives->nr_frames && !process->runtime; i++) {
		const struct unwind_frame *frame = &natives->frames[i];
		const struct known_module *known;
		const struct mapping *mapping;

		if (frame->lookup.module.v == last)
			continue;
		last = frame->lookup.module.v;
		known = module_at(process, frame);
		mapping = space_find(process->space, frame->pc);
		if (known->runtime && mapping && mapping->module.v == last)
			recognise(process, known, mapping);
	}
}

static bool is_program(struct space *space, const struct elf_image *image, uint64_t bias)
{
	return image && elf_image_entry(image) + bias == proc_program_entry(space_pid(space));
}

static bool has_links(struct script_process *process, const struct known_module *known,
		      const struct mapping *mapping)
{
	return known->runtime->links.find &&
	       (!known->runtime->links.of_program_alone ||
		is_program(process->space, known->image, mapping->bias));
}

static void find_mapped(struct script_process *process, bool needs_links)
{
	size_t nr = space_nr_mappings(process->space);

	for (size_t i = 0; i < nr && !process->runtime; i++) {
		const struct mapping *mapping = space_mapping_at(process->space, i);
		struct known_module *known;

		if (!mapping->executable)
			continue;
		known = row_of(process->modules, mapping->module);
		if (!known->is_known)
			look_at(known, image_of(process, mapping));
		if (known->runtime && (!needs_links || has_links(process, known, mapping)))
			recognise(process, known, mapping);
	}
}

void script_process_find(struct script_process *process)
{
	find_mapped(process, false);
}

void script_process_look(struct script_process *process)
{
	find_mapped(process, true);
	/* Its loader may not have prepared it yet. */
	if (!process->facts)
		process->runtime = NULL;
}

enum script_links script_find_links(const struct script_process *process, struct frame_links *links)
{
	if (!process->facts || !process->runtime->links.find)
		return SCRIPT_LINKS_UNKNOWN;
	if (process->runtime->links.of_program_alone &&
	    !is_program(process->space, process->modules->at[process->module.v].image,
			process->bias))
		return SCRIPT_LINKS_UNKNOWN;
	if (!linked_for_good(process->space, process->module, process->bias))
		return SCRIPT_LINKS_UNLOADABLE;
	return process->runtime->links.find(process->facts, process->space, links)
		       ? SCRIPT_LINKS_FOUND
		       : SCRIPT_LINKS_UNKNOWN;
}

/* --- walks --- */

/* False: no code of the interpreter's is on the stack. */
static bool take_natives(struct script_process *process, const struct unwind_walk *walk)
{
	bool has_interpreter = false;

	ARRAY_RESERVE(process->natives, walk->nr_frames, process->cap_natives);
	for (size_t i = 0; i < walk->nr_frames; i++) {
		const struct unwind_frame *frame = &walk->frames[i];
		bool is_interpreter = frame->lookup.module.v == process->module.v;
		const struct known_module *known = module_at(process, frame);

		process->natives[i] = (struct script_native){
			.sp = frame->sp,
			.address = frame->lookup.address,
			.is_interpreter = is_interpreter,
			.is_generated = !is_interpreter && known->is_generated,
			.image = known->image,
			.bias = frame->pc - !frame->is_exact - frame->lookup.address};
		has_interpreter |= is_interpreter;
	}
	return has_interpreter;
}

/* The states of a thread: an interpreter may run code of another one, as functions call functions.
 */
#define STATES_MAX 4
/* In place of a state, of an interpreter whose walks need none. */
#define NO_STATE 1

static enum script_outcome walk_states(struct script_process *process, struct script_thread *thread,
				       const struct snapshot *snapshot, size_t nr_natives,
				       struct script_walk *out)
{
	const struct script_runtime *runtime = process->runtime;
	uint64_t states[STATES_MAX] = {thread->state};
	enum script_outcome outcome;
	size_t nr = 1;

	if (runtime->find_others)
		nr += runtime->find_others(process->facts, process->space, snapshot, thread->state,
					   states + 1, STATES_MAX - 1);
	outcome = runtime->walk(process->facts, states, nr, snapshot, process->natives, nr_natives,
				out);
	/* Missing bytes are requested for the state that runs, or for the one that lacked some. */
	thread->state = outcome == SCRIPT_NO_THREAD ? 0 : states[out->leaf_state];
	/* It may have been freed. */
	if (outcome == SCRIPT_NOT_COPIED && thread->lacks_bytes && nr > 1 && !out->leaf_state)
		thread->state = states[1];
	thread->lacks_bytes = outcome == SCRIPT_NOT_COPIED;
	return outcome;
}

static uint64_t find_state(struct script_process *process, const struct snapshot *snapshot)
{
	return process->runtime->find_thread
		       ? process->runtime->find_thread(process->facts, process->space, snapshot)
		       : NO_STATE;
}

enum script_outcome script_walk(struct script_process *process, struct script_thread *thread,
				const struct snapshot *snapshot, const struct unwind_walk *natives,
				struct script_walk *out)
{
	bool lacked_bytes = thread->lacks_bytes;

	out->nr_frames = 0;
	thread->lacks_bytes = false;
	if (!process->runtime)
		look_for_interpreter(process, natives);
	if (!process->facts || !take_natives(process, natives))
		return SCRIPT_NONE;
	out->wanted = (struct wanted_memory){.nr = 0};
	/* Between the frames that are left out there is no telling where one ends. */
	if (natives->nr_elided)
		return SCRIPT_TOO_DEEP;
	if (!thread->state)
		thread->state = find_state(process, snapshot);
	if (!thread->state)
		return SCRIPT_NO_THREAD;
	thread->lacks_bytes = lacked_bytes;
	return walk_states(process, thread, snapshot, natives->nr_frames, out);
}

void script_find_more(const struct script_process *process, const struct script_thread *thread,
		      struct wanted_more *more)
{
	*more = (struct wanted_more){.find = NULL};
	if (!process->facts || (thread && !thread->state))
		return;
	more->find = process->runtime->missing.find;
	more->subject = thread ? thread->state : 0;
	more->needs_stack = process->runtime->missing.needs_stack;
	more->leads_to_late = process->runtime->missing.leads_to_late;
	memcpy(more->facts, process->facts, process->runtime->nr_fact_bytes);
}

/* The objects of some hundred functions. */
#define LATE_BYTES_MAX 8192

static bool has_copied(const struct snapshot *snapshot, const struct wanted_range *range)
{
	uint8_t byte;

	return snapshot_read_any(snapshot, range->start, &byte, 1) ||
	       snapshot_read_late(snapshot, range->start, &byte, 1);
}

static bool add_late(struct snapshot *snapshot, const struct memory_piece *piece)
{
	uint8_t *to = piece->is_read ? snapshot_add_late(snapshot, piece->address, piece->nr_bytes)
				     : NULL;

	if (to)
		memcpy(to, piece->out, piece->nr_bytes);
	return to;
}

bool script_read_late(struct script_process *process, const struct script_walk *walk,
		      struct snapshot *snapshot)
{
	struct memory_piece pieces[SNAPSHOT_WANTED_MAX];
	uint8_t bytes[LATE_BYTES_MAX];
	size_t nr = 0, nr_bytes = 0;
	bool is_any = false;

	if (!process->runtime || !process->runtime->has_own_code)
		return false;
	for (size_t i = 0; i < walk->wanted.nr; i++) {
		const struct wanted_range *range = &walk->wanted.at[i];

		if (has_copied(snapshot, range) || range->nr_bytes > sizeof(bytes) - nr_bytes)
			continue;
		pieces[nr++] = (struct memory_piece){.address = range->start,
						     .out = bytes + nr_bytes,
						     .nr_bytes = range->nr_bytes};
		nr_bytes += range->nr_bytes;
	}
	space_read_pieces(process->space, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		is_any |= add_late(snapshot, &pieces[i]);
	return is_any;
}

const struct script_place *script_find_places(struct script_process *process,
					      const struct snapshot *snapshot,
					      const struct script_walk *walk)
{
	ARRAY_RESERVE(process->places, walk->nr_frames, process->cap_places);
	if (walk->nr_frames)
		process->runtime->find_places(process->facts, process->space, snapshot,
					      walk->frames, walk->nr_frames, process->places);
	return process->places;
}

/*
 * Just when it is looked for, the thread that had it may have ended, or may have begun a moment ago
 * and be in no list. Tries are twice as far apart each time: the last one comes after 5 s.
 */
#define LOCK_TRIES_MAX 10
#define LOCK_TRY_NS    (10 * NS_PER_MS)

bool script_find_lock(struct script_process *process, struct script_lock *lock)
{
	uint64_t now_ns = process->has_lock ? 0 : clock_monotonic_ns();

	if (process->runtime->find_lock && !process->has_lock &&
	    process->nr_lock_tries < LOCK_TRIES_MAX && now_ns >= process->lock_again_ns) {
		process->lock_again_ns = now_ns + (LOCK_TRY_NS << process->nr_lock_tries++);
		process->has_lock =
			process->runtime->find_lock(process->facts, process->space, &process->lock);
	}
	*lock = process->lock;
	return process->has_lock;
}

void script_complete_wanted(const struct script_process *process, struct wanted_memory *wanted)
{
	if (process->runtime->complete_wanted)
		process->runtime->complete_wanted(process->facts, wanted);
}
