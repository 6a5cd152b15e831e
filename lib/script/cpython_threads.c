// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the state of a thread in the lists of the interpreter, over copied bytes. */
#include "base/minmax.h"
#include "script/cpython.h"
#include "script/object_bytes.h"
#include "snapshot/snapshot.h"

/*
 * Each thread of a list takes a copy of its own, while the one that is looked for may be stopped.
 * New threads come first in the list.
 */
#define INTERPRETERS_MAX 8
#define THREADS_MAX	 16

/* Copy bytes from the snapshot; false: it lacks them, and they are missing. */
static bool take(const struct snapshot *snapshot, uint64_t at, void *out, size_t nr_bytes,
		 struct wanted_memory *missing)
{
	if (snapshot_read_any(snapshot, at, out, nr_bytes))
		return true;
	wanted_memory_add(missing, at, nr_bytes);
	return false;
}

bool cpython_is_thread(const struct cpython_layout *layout, const uint8_t *state,
		       const struct snapshot *snapshot)
{
	if (snapshot->thread_pointer)
		return word_at(state, layout->thread.id) == snapshot->thread_pointer;
	/* Up to 3.10 it does not know the kernel's id. */
	return !layout->has_frame_objects &&
	       word_at(state, layout->thread.id + sizeof(uint64_t)) == (uint64_t)snapshot->tid;
}

bool cpython_is_idle(const struct cpython_layout *layout, const uint8_t *state, uint64_t at)
{
	if (layout->has_cframes)
		return word_at(state, layout->thread.cframe) == at + layout->thread.root_cframe;
	return !word_at(state, layout->thread.frame);
}

struct search {
	const struct cpython_layout *layout;
	const struct snapshot *snapshot;
	struct wanted_memory *missing;
	uint64_t found; /* so far: it may be idle */
	int nr_threads; /* looked at so far */
};

/* As cpython_find_thread(), in the list of one interpreter. */
static enum script_outcome search_list(struct search *search, uint64_t at)
{
	uint8_t state[CPYTHON_OBJECT_BYTES_MAX];

	for (; at && search->nr_threads < THREADS_MAX; search->nr_threads++) {
		/* The walk needs all of it, once it is the right one. */
		if (!take(search->snapshot, at, state, cpython_layout_thread_bytes(search->layout),
			  search->missing))
			return SCRIPT_NOT_COPIED;
		if (cpython_is_thread(search->layout, state, search->snapshot)) {
			search->found = at;
			if (!cpython_is_idle(search->layout, state, at))
				return SCRIPT_PROVED;
		}
		at = word_at(state, search->layout->thread.next);
	}
	return SCRIPT_NO_THREAD;
}

enum script_outcome cpython_find_thread(const struct cpython *python,
					const struct snapshot *snapshot, uint64_t *state,
					struct wanted_memory *missing)
{
	const struct cpython_runtime_layout *layout = &python->layout.runtime;
	uint64_t first = min_u64(layout->next_interpreter, layout->first_thread);
	uint64_t last = max_u64(layout->next_interpreter, layout->first_thread);
	uint64_t nr_bytes = last - first + sizeof(uint64_t);
	struct search search = {
		.layout = &python->layout, .snapshot = snapshot, .missing = missing};
	uint64_t interpreter;

	if (nr_bytes > CPYTHON_OBJECT_BYTES_MAX)
		return SCRIPT_NO_THREAD;
	if (!take(snapshot, python->runtime + layout->first_interpreter, &interpreter,
		  sizeof(interpreter), missing))
		return SCRIPT_NOT_COPIED;
	for (int nr = 0; interpreter && nr < INTERPRETERS_MAX; nr++) {
		uint8_t words[CPYTHON_OBJECT_BYTES_MAX];
		enum script_outcome outcome;

		if (!take(snapshot, interpreter + first, words, nr_bytes, missing))
			return SCRIPT_NOT_COPIED;
		outcome = search_list(&search, word_at(words, layout->first_thread - first));
		*state = search.found;
		if (outcome != SCRIPT_NO_THREAD)
			return outcome;
		interpreter = word_at(words, layout->next_interpreter - first);
	}
	return search.found ? SCRIPT_PROVED : SCRIPT_NO_THREAD;
}
