// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython in a process: its version, its layout, and its threads. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "script/cpython.h"
#include "script/cpython_links.h"
#include "script/cpython_names.h"
#include "script/evaluator.h"
#include "script/runtime_priv.h"
#include "script/script.h"
#include "script/thread_keys.h"
#include "snapshot/snapshot.h"

/* In the order of `exports` of either runtime. */
enum export {
	EXPORT_RUNTIME,
	EXPORT_CODE_TYPE,
	EXPORT_GENERATOR_TYPE,
	EXPORT_COROUTINE_TYPE,
	EXPORT_ASYNC_GENERATOR_TYPE,
	EXPORT_THREAD_GETTER,
	/* From 3.11 on: */
	EXPORT_VERSION,
	NR_EXPORTS,
	/* From 3.8 to 3.10: */
	EXPORT_SINCE_3_8 = EXPORT_VERSION,
	EXPORT_FRAME_TYPE,
	EXPORT_EVALUATOR,
	NR_EXPORTS_BEFORE_3_11,
};

_Static_assert(NR_EXPORTS_BEFORE_3_11 <= SCRIPT_EXPORTS_MAX, "room for the addresses");

/* A thread that the interpreter knows: the C library's id, the kernel's, and its state. */
struct known_thread {
	uint64_t id, native_id, state;
	bool is_idle; /* as of the last reading */
};

_Static_assert(sizeof(struct cpython) <= WANTED_FACTS_BYTES, "room for a copy");

struct python {
	struct cpython cpython; /* first: the walk needs only this */
	uint64_t thread_getter; /* PyThreadState_Get() */
	/* Up to 3.10, which know the C library's ids alone; 0: where its record has the kernel's
	 * one is unknown. */
	uint32_t library_id_offset;
	struct known_thread *threads; /* owned; as of the last reading */
	size_t nr_threads, cap_threads;
	uint64_t read_again_ns; /* CLOCK_MONOTONIC; not before */
	/* Are there several interpreters? As of a look, and when the next one is. */
	bool has_several;
	uint64_t look_again_ns;
	struct cpython_names *names;
};

/* --- version and layout --- */

/* Offsets in PyTypeObject, the same in all versions. */
#define TYPE_BASIC_SIZE 32
#define TYPE_MEMBERS	240
/* PyMemberDef: name, type, offset, flags, text. */
#define MEMBER_BYTES  40
#define MEMBER_OFFSET 16

static bool read_word(struct space *space, uint64_t address, uint64_t *word)
{
	return space_read_memory(space, address, word, sizeof(*word));
}

static bool read_member(struct space *space, uint64_t at, struct cpython_member *member)
{
	uint64_t name;

	*member = (struct cpython_member){.offset = 0};
	return read_word(space, at, &name) && name &&
	       read_word(space, at + MEMBER_OFFSET, &member->offset) &&
	       space_read_memory(space, name, member->name, sizeof(member->name) - 1);
}

typedef bool (*agrees_fn)(const struct cpython_layout *layout, const struct cpython_member *members,
			  size_t nr_members, uint64_t basic_size);

static bool agrees_about(struct space *space, const struct cpython_layout *layout, uint64_t type,
			 agrees_fn agrees)
{
	struct cpython_member members[CPYTHON_MEMBERS_MAX];
	uint64_t at, basic_size;
	size_t nr = 0;

	if (!read_word(space, type + TYPE_MEMBERS, &at) ||
	    !read_word(space, type + TYPE_BASIC_SIZE, &basic_size))
		return false;
	while (nr < CPYTHON_MEMBERS_MAX && read_member(space, at + nr * MEMBER_BYTES, &members[nr]))
		nr++;
	return agrees(layout, members, nr, basic_size);
}

static bool takes_offsets(struct space *space, struct cpython_layout *layout, uint64_t runtime)
{
	uint8_t bytes[CPYTHON_DEBUG_OFFSETS_BYTES];

	return !layout->describes_itself ||
	       (space_read_memory(space, runtime, bytes, sizeof(bytes)) &&
		cpython_layout_take_offsets(layout, bytes, sizeof(bytes)));
}

/* It is a name for users, so numbers that no version has are left out. */
#define MINOR_MAX 99

static void set_version(struct script_found *found, uint64_t version)
{
	unsigned int minor = version >> 16 & 0xff;

	if (version >> 24 == 3 && minor <= MINOR_MAX)
		snprintf(found->version, sizeof(found->version), "3.%u", minor);
}

static bool takes_frame_objects(struct space *space, const struct script_module *module,
				struct cpython *cpython)
{
	uint64_t evaluator = module->exports[EXPORT_EVALUATOR] - module->bias;

	if (!cpython->layout.has_frame_objects)
		return true;
	cpython->frame_type = module->exports[EXPORT_FRAME_TYPE];
	return evaluator_find(module->image, evaluator, cpython->evaluator) &&
	       agrees_about(space, &cpython->layout, cpython->frame_type,
			    cpython_layout_agrees_about_frames);
}

static void *begin(struct space *space, const struct script_module *module, uint64_t version,
		   struct script_found *found)
{
	const uint64_t *addresses = module->exports;
	const struct cpython_layout *layout = cpython_layout_of(version);
	struct python *python;

	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	set_version(found, version);
	if (!layout)
		return NULL;
	python = xcalloc(1, sizeof(*python));
	python->cpython.layout = *layout;
	python->cpython.code_type = addresses[EXPORT_CODE_TYPE];
	for (int i = 0; i < 3; i++)
		python->cpython.generator_types[i] = addresses[EXPORT_GENERATOR_TYPE + i];
	python->cpython.runtime = addresses[EXPORT_RUNTIME];
	python->thread_getter = addresses[EXPORT_THREAD_GETTER];
	if (layout->has_frame_objects && !thread_keys_find_id(space, &python->library_id_offset))
		python->library_id_offset = 0;
	if (agrees_about(space, &python->cpython.layout, python->cpython.code_type,
			 cpython_layout_agrees) &&
	    takes_frame_objects(space, module, &python->cpython) &&
	    takes_offsets(space, &python->cpython.layout, python->cpython.runtime)) {
		python->names = cpython_names_new();
		found->support = SCRIPT_READ;
		return python;
	}
	found->support = SCRIPT_OTHER_LAYOUT;
	free(python);
	return NULL;
}

static void *recognise(struct space *space, const struct script_module *module,
		       struct script_found *found)
{
	uint64_t version;

	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	if (!read_word(space, module->exports[EXPORT_VERSION], &version))
		return NULL;
	return begin(space, module, version, found);
}

static void *recognise_objects(struct space *space, const struct script_module *module,
			       struct script_found *found)
{
	/* Nothing that it exports says the version, but each has functions that are new. */
	static const char *const since[] = {"PyFrame_GetBack", "PyIter_Send"};
	uint64_t at[ARRAY_SIZE(since)];
	uint64_t minor = 8 + elf_image_exports(module->image, since, ARRAY_SIZE(since), at);

	return begin(space, module, 0x030000f0 | minor << 16, found);
}

static void forget(void *facts)
{
	struct python *python = facts;

	free(python->threads);
	cpython_names_free(python->names);
	free(python);
}

/* --- threads --- */

/* The target chooses how long the lists are, and whether they end. */
#define INTERPRETERS_MAX 256
#define THREADS_MAX	 16384
/* Reading them takes at most this fraction of one CPU's time. */
#define PAUSE_PER_READING 50

/* 0: it cannot be read, as of a thread that has ended. */
static uint64_t library_id(struct space *space, uint64_t at)
{
	uint32_t id;

	return space_read_memory(space, at, &id, sizeof(id)) ? id : 0;
}

/* From 3.11 on the kernel's id follows the C library's. */
static bool read_thread(struct python *python, struct space *space, uint64_t at, uint64_t *next)
{
	const struct cpython_thread_layout *layout = &python->cpython.layout.thread;
	struct known_thread thread = {.state = at};
	uint8_t bytes[CPYTHON_OBJECT_BYTES_MAX];
	size_t nr_bytes = layout->id + 2 * sizeof(uint64_t);

	if (!space_read_memory(space, at, bytes, nr_bytes))
		return false;
	memcpy(next, bytes + layout->next, sizeof(*next));
	thread.is_idle = cpython_is_idle(&python->cpython.layout, bytes, at);
	memcpy(&thread.id, bytes + layout->id, sizeof(thread.id));
	if (!python->cpython.layout.has_frame_objects)
		memcpy(&thread.native_id, bytes + layout->id + sizeof(thread.id),
		       sizeof(thread.native_id));
	else if (python->library_id_offset)
		thread.native_id = library_id(space, thread.id + python->library_id_offset);
	ARRAY_GROW(python->threads, python->nr_threads, python->cap_threads);
	python->threads[python->nr_threads++] = thread;
	return true;
}

static void read_threads(struct python *python, struct space *space)
{
	const struct cpython_runtime_layout *layout = &python->cpython.layout.runtime;
	uint64_t interpreter, began_ns = clock_thread_cpu_ns();

	python->nr_threads = 0;
	if (!read_word(space, python->cpython.runtime + layout->first_interpreter, &interpreter))
		return;
	for (int nr = 0; interpreter && nr < INTERPRETERS_MAX; nr++) {
		uint64_t thread;

		if (!read_word(space, interpreter + layout->first_thread, &thread))
			break;
		while (thread && python->nr_threads < THREADS_MAX &&
		       read_thread(python, space, thread, &thread))
			;
		if (!read_word(space, interpreter + layout->next_interpreter, &interpreter))
			break;
	}
	/* Others may have had the CPU meanwhile, for so long that a pause by the clock would
	 * matter. */
	python->read_again_ns =
		clock_monotonic_ns() + (clock_thread_cpu_ns() - began_ns) * PAUSE_PER_READING;
}

/* As cpython_is_thread(). */
static bool is_thread(const struct known_thread *thread, const struct snapshot *snapshot)
{
	return snapshot->thread_pointer ? thread->id == snapshot->thread_pointer
					: thread->native_id == (uint64_t)snapshot->tid;
}

static uint64_t find_known(const struct python *python, const struct snapshot *snapshot)
{
	uint64_t found = 0;

	for (size_t i = 0; i < python->nr_threads; i++) {
		if (!is_thread(&python->threads[i], snapshot))
			continue;
		found = python->threads[i].state;
		if (!python->threads[i].is_idle)
			break;
	}
	return found;
}

/* New interpreters are rare, and most programs have one. */
#define LOOK_EVERY_NS (10 * NS_PER_MS)

/* Read the lists of threads again where there are several interpreters. */
static void look_for_interpreters(struct python *python, struct space *space)
{
	const struct cpython_runtime_layout *layout = &python->cpython.layout.runtime;
	uint64_t first, next;

	python->has_several =
		read_word(space, python->cpython.runtime + layout->first_interpreter, &first) &&
		read_word(space, first + layout->next_interpreter, &next) && next;
	if (python->has_several && clock_monotonic_ns() >= python->read_again_ns)
		read_threads(python, space);
	python->look_again_ns = clock_monotonic_ns() + LOOK_EVERY_NS;
}

static size_t find_others(void *facts, struct space *space, const struct snapshot *snapshot,
			  uint64_t state, uint64_t *others, size_t max)
{
	struct python *python = facts;
	size_t nr = 0;

	if (clock_monotonic_ns() >= python->look_again_ns)
		look_for_interpreters(python, space);
	for (size_t i = 0; python->has_several && i < python->nr_threads && nr < max; i++) {
		if (is_thread(&python->threads[i], snapshot) && python->threads[i].state != state)
			others[nr++] = python->threads[i].state;
	}
	return nr;
}

/* The first sample of a thread has mostly what leads to its state: see find_missing(). */
static uint64_t find_thread(void *facts, struct space *space, const struct snapshot *snapshot)
{
	struct python *python = facts;
	struct wanted_memory missing = {.nr = 0};
	uint64_t state;

	if (cpython_find_thread(&python->cpython, snapshot, &state, &missing) == SCRIPT_PROVED)
		return state;
	if (clock_monotonic_ns() >= python->read_again_ns)
		read_threads(python, space);
	return find_known(python, snapshot);
}

static enum script_outcome walk(const void *facts, const uint64_t *states, size_t nr_states,
				const struct snapshot *snapshot,
				const struct script_native *natives, size_t nr_natives,
				struct script_walk *out)
{
	const struct python *python = facts;

	return cpython_walk(&python->cpython, states, nr_states, snapshot, natives, nr_natives,
			    out);
}

/* The facts are a copy of the first member of struct python. */
static bool find_missing(const void *facts, uint64_t thread_state, const struct snapshot *snapshot,
			 struct wanted_memory *missing)
{
	return cpython_find_missing(facts, thread_state, snapshot, missing);
}

static bool find_links(void *facts, struct space *space, struct frame_links *links)
{
	const struct python *python = facts;

	return cpython_find_links(&python->cpython, space, python->thread_getter, links);
}

static void find_places(void *facts, struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	struct python *python = facts;

	cpython_names_find(python->names, &python->cpython, space, snapshot, frames, nr, places);
}

/* --- the lock --- */

/* 0: it cannot be read. The first interpreter is the last one of the list. */
static uint64_t gil_of(const struct cpython *python, struct space *space)
{
	const struct cpython_runtime_layout *layout = &python->layout.runtime;
	uint64_t interpreter, next, gil;

	if (!layout->gil)
		return 0;
	if (!python->layout.has_entry_frames)
		return python->runtime + layout->gil;
	if (!read_word(space, python->runtime + layout->first_interpreter, &next))
		return 0;
	interpreter = next;
	for (int nr = 0; next && nr < INTERPRETERS_MAX; nr++) {
		interpreter = next;
		if (!read_word(space, interpreter + layout->next_interpreter, &next))
			return 0;
	}
	return !next && read_word(space, interpreter + layout->gil, &gil) ? gil : 0;
}

/* In microseconds: hours. */
#define INTERVAL_MAX UINT64_C(10000000000)

/* Its offset is no part of what the interpreter says of itself: a thread of its own has to have it.
 */
static bool find_lock(void *facts, struct space *space, struct script_lock *lock)
{
	struct python *python = facts;
	uint64_t gil = gil_of(&python->cpython, space), interval, holder;
	uint32_t locked;

	if (!gil || !read_word(space, gil + CPYTHON_GIL_INTERVAL, &interval) ||
	    !read_word(space, gil + CPYTHON_GIL_HOLDER, &holder) ||
	    !space_read_memory(space, gil + CPYTHON_GIL_LOCKED, &locked, sizeof(locked)) ||
	    !interval || interval > INTERVAL_MAX || locked > 1)
		return false;
	*lock = (struct script_lock){.start = gil + CPYTHON_GIL_CONDITION,
				     .end = gil + CPYTHON_GIL_CONDITION +
					    CPYTHON_GIL_CONDITION_BYTES,
				     .holder_at = gil + CPYTHON_GIL_HOLDER,
				     .id_offset = python->cpython.layout.thread.id};
	/* Up to 3.10 it knows the C library's id alone. */
	if (!python->cpython.layout.has_frame_objects)
		lock->id_offset += (uint32_t)sizeof(uint64_t);
	else if (!python->library_id_offset)
		return false;
	else
		lock->library_id_offset = python->library_id_offset;
	read_threads(python, space);
	for (size_t i = 0; i < python->nr_threads; i++) {
		if (python->threads[i].state == holder)
			return true;
	}
	return false;
}

static void complete_wanted(const void *facts, struct wanted_memory *wanted)
{
	const struct python *python = facts;

	for (size_t i = 0; i < wanted->nr; i++)
		wanted->at[i].is_late =
			wanted->at[i].nr_bytes == python->cpython.layout.code.instructions &&
			cpython_names_is_steady(python->names, wanted->at[i].start);
}

const struct script_runtime cpython_runtime = {
	.name = "Python",
	.exports = {[EXPORT_RUNTIME] = "_PyRuntime",
		    [EXPORT_CODE_TYPE] = "PyCode_Type",
		    [EXPORT_GENERATOR_TYPE] = "PyGen_Type",
		    [EXPORT_COROUTINE_TYPE] = "PyCoro_Type",
		    [EXPORT_ASYNC_GENERATOR_TYPE] = "PyAsyncGen_Type",
		    [EXPORT_THREAD_GETTER] = "PyThreadState_Get",
		    [EXPORT_VERSION] = "Py_Version"},
	.nr_exports = NR_EXPORTS,
	.recognise = recognise,
	.forget = forget,
	.find_thread = find_thread,
	.find_others = find_others,
	.walk = walk,
	.nr_fact_bytes = sizeof(struct cpython),
	.missing = {.find = find_missing, .needs_stack = true, .leads_to_late = true},
	.links.find = find_links,
	.find_lock = find_lock,
	.complete_wanted = complete_wanted,
	.find_places = find_places,
};

const struct script_runtime cpython_objects_runtime = {
	.name = "Python",
	.exports = {[EXPORT_RUNTIME] = "_PyRuntime",
		    [EXPORT_CODE_TYPE] = "PyCode_Type",
		    [EXPORT_GENERATOR_TYPE] = "PyGen_Type",
		    [EXPORT_COROUTINE_TYPE] = "PyCoro_Type",
		    [EXPORT_ASYNC_GENERATOR_TYPE] = "PyAsyncGen_Type",
		    [EXPORT_THREAD_GETTER] = "PyThreadState_Get",
		    [EXPORT_SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
		    [EXPORT_FRAME_TYPE] = "PyFrame_Type",
		    [EXPORT_EVALUATOR] = "_PyEval_EvalFrameDefault"},
	.nr_exports = NR_EXPORTS_BEFORE_3_11,
	.recognise = recognise_objects,
	.forget = forget,
	.find_thread = find_thread,
	.find_others = find_others,
	.walk = walk,
	.nr_fact_bytes = sizeof(struct cpython),
	.missing = {.find = find_missing, .needs_stack = true, .leads_to_late = true},
	.links.find = find_links,
	.find_lock = find_lock,
	.complete_wanted = complete_wanted,
	.find_places = find_places,
};
