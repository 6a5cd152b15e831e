// SPDX-License-Identifier: GPL-2.0-or-later
/* The patches of a process: written, taken back, and found by address. */
#include "inject/patched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "inject/contexts.h"
#include "inject/patched_bytes.h"
#include "inject/stopped.h"
#include "proc/read.h"
#include "proc/target_memory.h"

/* Signal handlers run near the end of a stack; removal also finds deeper ones. */
#define STACK_BYTES_APPLY ((size_t)64 << 10)
#define STACK_BYTES_UNDO  ((size_t)1 << 20)
/* Patches that begin in the same so many bytes are read and written together. */
#define RUN_BYTES 4096

static int compare_thunks(const void *a, const void *b, void *context)
{
	uint64_t left = patch_table_thunk(context, *(const uint32_t *)a);
	uint64_t right = patch_table_thunk(context, *(const uint32_t *)b);

	return left < right ? -1 : left > right;
}

/* Nearly always thunks are in the order of what leads to them. */
static void sort_thunks(struct patched *patched)
{
	size_t nr = patched->patches.nr;

	patched->by_thunk = xcalloc(nr, sizeof(*patched->by_thunk));
	for (size_t i = 0; i < nr; i++)
		patched->by_thunk[i] = (uint32_t)i;
	qsort_r(patched->by_thunk, nr, sizeof(*patched->by_thunk), compare_thunks,
		&patched->patches);
}

static int compare_pads(const void *a, const void *b)
{
	const struct patched_pad *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static void add_pads(struct patched *patched, size_t index)
{
	struct patch patch;

	patch_table_get(&patched->patches, index, &patch);
	for (unsigned int i = 0; i < PATCH_PADS_MAX; i++) {
		struct patched_pad pad = {patch_pad(&patch, i), (uint32_t)index};

		if (!patch_has_pad(&patch, i))
			continue;
		ARRAY_GROW(patched->pads, patched->nr_pads, patched->cap_pads);
		patched->pads[patched->nr_pads++] = pad;
		patched->thunk_start = min_u64(patched->thunk_start, pad.address);
		patched->thunk_end = max_u64(patched->thunk_end, pad.address + 1);
	}
}

void patched_init(struct patched *patched, const struct patch_table *patches)
{
	bool is_sorted = true;
	uint64_t last = 0;

	*patched = (struct patched){
		.patches = *patches, .start = UINT64_MAX, .thunk_start = UINT64_MAX};
	for (size_t i = 0; i < patches->nr; i++) {
		const struct patch *shape = patch_table_shape(patches, i);
		uint64_t address = patch_table_address(patches, i);
		uint64_t thunk = patch_table_thunk(patches, i);

		is_sorted &= last <= thunk;
		last = thunk;
		if (shape->kind == PATCH_WORD)
			continue; /* no thread is there, nor in a thunk of it */
		if (shape->pads)
			add_pads(patched, i);
		patched->start = min_u64(patched->start, address);
		patched->end = max_u64(patched->end, address + shape->nr_bytes + 1);
		patched->thunk_start = min_u64(patched->thunk_start, thunk);
		if (shape->stub)
			patched->thunk_start = min_u64(patched->thunk_start, shape->stub);
		patched->thunk_end = max_u64(patched->thunk_end, thunk + shape->nr_thunk_bytes);
		patched->thunk_end =
			max_u64(patched->thunk_end, shape->stub + shape->nr_stub_bytes);
	}
	if (patched->nr_pads)
		qsort(patched->pads, patched->nr_pads, sizeof(*patched->pads), compare_pads);
	if (!is_sorted)
		sort_thunks(patched);
}

void patched_release(struct patched *patched)
{
	free(patched->by_thunk);
	free(patched->pads);
	*patched = (struct patched){.start = 0};
}

size_t patched_nr_up_to(const struct patched *patched, uint64_t address)
{
	size_t low = 0, high = patched->patches.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (patch_table_address(&patched->patches, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* By the order of thunks. */
static size_t index_by_thunk(const struct patched *patched, size_t at)
{
	return patched->by_thunk ? patched->by_thunk[at] : at;
}

#define NO_PATCH SIZE_MAX

/* The index of the patch with a thunk around this address; NO_PATCH: there is none. */
static size_t find_thunk(const struct patched *patched, uint64_t pc)
{
	const struct patch_table *patches = &patched->patches;
	size_t low = 0, high = patches->nr, found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (patch_table_thunk(patches, index_by_thunk(patched, middle)) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NO_PATCH;
	found = index_by_thunk(patched, low - 1);
	return pc - patch_table_thunk(patches, found) <
			       patch_table_shape(patches, found)->nr_thunk_bytes
		       ? found
		       : NO_PATCH;
}

/* A pad is one instruction: a thread there has still to come to the thunk. */
static uint64_t behind_pad(const struct patched *patched, uint64_t pc)
{
	const struct patched_pad wanted = {.address = pc};
	const struct patched_pad *pad = patched->nr_pads
						? bsearch(&wanted, patched->pads, patched->nr_pads,
							  sizeof(wanted), compare_pads)
						: NULL;

	return pad ? patch_table_thunk(&patched->patches, pad->index) : pc;
}

/*
 * The thunk that a thread is in; or on the way of which it is in the stub: then *pc becomes its
 * place in the thunk. Returns the index of its patch, or NO_PATCH.
 */
static size_t find_thread(const struct patched *patched, uint64_t *pc, uint64_t link,
			  struct patch *patch, struct patch_saved *saved)
{
	size_t found;
	bool is_in_stub;

	*pc = behind_pad(patched, *pc);
	found = find_thunk(patched, *pc);
	is_in_stub = found == NO_PATCH;
	*saved = (struct patch_saved){.nr_bytes = 0};
	if (is_in_stub)
		found = find_thunk(patched, link);
	if (found == NO_PATCH)
		return NO_PATCH;
	patch_table_get(&patched->patches, found, patch);
	if (!is_in_stub)
		return found;
	if (!patch_is_in_stub(patch, *pc, link, saved))
		return NO_PATCH;
	*pc = link;
	return found;
}

static void move_in(void *owner, struct context *context)
{
	const struct patched *patched = owner;
	size_t nr = patched_nr_up_to(patched, context->pc);
	struct patch patch;
	uint64_t moved;

	if (!nr)
		return;
	patch_table_get(&patched->patches, nr - 1, &patch);
	if (!patch_moved_pc(&patch, context->pc, &moved) ||
	    (context->pc == patch.address + patch.nr_bytes && !context->is_in_call))
		return;
	context->pc = moved;
	context->is_changed = true;
}

static bool is_word(const struct patched *patched, size_t index)
{
	return patch_table_shape(&patched->patches, index)->kind == PATCH_WORD;
}

/* Some patches of one run, by their first one. */
struct run {
	const struct patched *patched;
	size_t first, nr, nr_bytes;
	uint64_t address;
};

static struct patch_window window_in(const struct run *run, size_t index)
{
	return patch_table_window(&run->patched->patches, run->first + index);
}

/* The patches from `first` on that lie in one run: all of code, or all of data. */
static struct run run_from(const struct patched *patched, size_t first)
{
	const struct patch_table *patches = &patched->patches;
	struct run run = {
		.patched = patched, .first = first, .address = patch_table_address(patches, first)};

	for (; first + run.nr < patches->nr; run.nr++) {
		const struct patch_window next = window_in(&run, run.nr);

		if ((next.kind == PATCH_WORD) != is_word(patched, first) ||
		    next.address / RUN_BYTES != run.address / RUN_BYTES)
			break;
		run.nr_bytes = (size_t)(next.address + next.nr_known - run.address);
	}
	return run;
}

/* That of a static probe; 0: there is none. */
static uint64_t semaphore_of(const struct patched *patched, size_t index)
{
	struct patch patch;

	if (patch_table_shape(&patched->patches, index)->kind != PATCH_SITE)
		return 0;
	patch_table_get(&patched->patches, index, &patch);
	return patch.callee;
}

/* One tool more or less wants the place to be passed: all threads are stopped. */
static bool count_semaphore(struct target_memory *memory, const struct patched *patched,
			    size_t index, int more)
{
	uint64_t at = semaphore_of(patched, index);
	uint16_t count;

	if (!at)
		return true;
	if (!target_memory_get(memory, at, &count, sizeof(count)) ||
	    count == (more > 0 ? UINT16_MAX : 0))
		return false;
	count = (uint16_t)(count + more);
	return target_memory_put(memory, at, &count, sizeof(count));
}

enum run_step { RUN_APPLY, RUN_UNDO };

/* Is there a breakpoint of another tool between two patches, other than those of the file? */
static bool has_breakpoint_between(const struct patch_window *patch, const uint8_t *bytes,
				   const struct patch_window *next)
{
	size_t nr_bytes = (size_t)(next->address - patch->address) - patch->nr_bytes;
	uint16_t there = patch_breakpoints_of(bytes + patch->nr_bytes, nr_bytes);

	return there && there != patch->breakpoints;
}

static bool is_changed(const struct patch_window *patch, const uint8_t *place, enum run_step step)
{
	return memcmp(place, step == RUN_APPLY ? patch->new : patch->old, patch->nr_bytes) == 0;
}

/*
 * Writes a run, without such breakpoints: the kernel may remove a uprobe at this moment, and the
 * program would be killed at an int3 that came back. What is left as it is has other bytes.
 */
static bool write_run(const struct run *run, const uint8_t *bytes, struct target_memory *memory,
		      enum run_step step)
{
	uint64_t from = 0; /* of what is to be written; 0: nothing */
	bool is_done = true;

	for (size_t i = 0; i < run->nr; i++) {
		const struct patch_window patch = window_in(run, i);
		const uint8_t *place = bytes + (patch.address - run->address);
		struct patch_window next;

		if (!is_changed(&patch, place, step))
			continue;
		if (!from)
			from = patch.address;
		if (i + 1 < run->nr) {
			next = window_in(run, i + 1);
			if (is_changed(&next, bytes + (next.address - run->address), step) &&
			    !has_breakpoint_between(&patch, place, &next))
				continue;
		}
		is_done &= target_memory_put_read(memory, from, bytes + (from - run->address),
						  patch.address + patch.nr_bytes - from);
		from = 0;
	}
	return is_done;
}

/* The bytes of a run. Data may change by themselves, and are read right before they are written. */
static bool read_run(struct patched_bytes *all, const struct run *run, uint8_t *bytes,
		     struct target_memory *memory)
{
	const uint8_t *read;

	if (is_word(run->patched, run->first))
		return target_memory_get(memory, run->address, bytes, run->nr_bytes);
	read = patched_bytes_run(all, run->first, run->nr_bytes);
	if (read)
		memcpy(bytes, read, run->nr_bytes);
	return read;
}

/* Are the old bytes of all patches there, and the instructions in front of them? */
static bool has_old_bytes(struct patched_bytes *all, const struct run *run, const uint8_t *bytes)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct patch_window patch = window_in(run, i);

		if (memcmp(bytes + (patch.address - run->address), patch.old, patch.nr_known) !=
			    0 ||
		    !patched_bytes_lead_to(all, run->first + i))
			return false;
	}
	return true;
}

static bool step_run(const struct run *run, uint8_t *bytes, struct target_memory *memory,
		     enum run_step step)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct patch_window patch = window_in(run, i);
		uint8_t *place = bytes + (patch.address - run->address);

		if (step == RUN_APPLY)
			memcpy(place, patch.new, patch.nr_bytes);
		else if (patch_window_has(&patch, patch.new, place))
			memcpy(place, patch.old, patch.nr_bytes);
	}
	return write_run(run, bytes, memory, step);
}

/* Before there are patches: one that is there has been counted. */
static bool count_semaphores(const struct patched *patched, struct target_memory *memory)
{
	for (size_t i = 0; i < patched->patches.nr; i++) {
		if (count_semaphore(memory, patched, i, 1))
			continue;
		while (i-- > 0)
			count_semaphore(memory, patched, i, -1);
		return false;
	}
	return true;
}

/* Gives the process, which runs, a page of its own there, unless the last call did. */
static bool touch(struct target_memory *memory, uint64_t address, const uint8_t *byte,
		  uint64_t *touched)
{
	if (page_start(address) == *touched)
		return true;
	*touched = page_start(address);
	return target_memory_put_soon(memory, address, byte, 1);
}

static bool touch_patch(struct target_memory *memory, const struct patch_window *patch,
			uint64_t *touched)
{
	uint8_t last = (uint8_t)(patch->nr_bytes - 1);

	/* Data may change while it is read, and has a page of its own already. */
	return patch->kind == PATCH_WORD ||
	       (touch(memory, patch->address, patch->old, touched) &&
		touch(memory, patch->address + last, patch->old + last, touched));
}

/*
 * Are the old bytes there, and the instructions in front of them? Pages are touched, up to the
 * first that differs.
 */
static bool touch_old_bytes(const struct patched *patched, struct target_memory *memory)
{
	struct patched_bytes *all = patched_bytes_new(&patched->patches, memory, false);
	uint64_t touched = UINT64_MAX;
	bool is_same = true;

	for (size_t i = 0; is_same && i < patched->patches.nr; i++) {
		const uint8_t *bytes = patched_bytes_at(all, i);
		const struct patch_window patch = patch_table_window(&patched->patches, i);

		is_same = bytes && memcmp(bytes, patch.old, patch.nr_known) == 0 &&
			  patched_bytes_lead_to(all, i) && touch_patch(memory, &patch, &touched);
	}
	patched_bytes_free(all);
	return is_same;
}

/* Pages with semaphores are read from the file now, and not while threads are stopped. */
static bool has_semaphores(const struct patched *patched, struct target_memory *memory)
{
	uint16_t count;

	for (size_t i = 0; i < patched->patches.nr; i++) {
		uint64_t at = semaphore_of(patched, i);

		if (at && !target_memory_get(memory, at, &count, sizeof(count)))
			return false;
	}
	return true;
}

bool patched_prepare(const struct patched *patched, struct target_memory *memory)
{
	return has_semaphores(patched, memory) && touch_old_bytes(patched, memory);
}

struct undoing {
	const struct patched *patched;
	const uint8_t *states;
	struct target_memory *memory;
	bool is_stuck;
};

/* Restores what the stub has saved. */
static bool leave_stub(const struct undoing *undoing, struct context *context,
		       const struct patch_saved *saved)
{
	for (unsigned int i = saved->nr_words; i > 0; i--) {
		if (!target_memory_word(undoing->memory, context->sp, &context->pushed[i]))
			return false;
		context->sp += sizeof(uint64_t);
	}
	context->sp += saved->nr_bytes;
	return true;
}

/* Restores what a thunk has pushed, up to the flags. */
static bool pop(const struct undoing *undoing, struct context *context, const struct patch *patch,
		uint64_t pc)
{
	const struct patch_spared spared = patch_spared_at(patch, pc);
	uint64_t flags;

	for (unsigned int i = patch_nr_pushed(patch, pc); i > 0; i--) {
		if (!target_memory_word(undoing->memory, context->sp, &context->pushed[i - 1]))
			return false;
		context->sp += sizeof(uint64_t);
	}
	if (spared.has_first) {
		if (!target_memory_word(undoing->memory, context->sp, &context->pushed[0]))
			return false;
		context->sp += sizeof(uint64_t);
	}
	if (spared.has_flags) {
		if (!target_memory_word(undoing->memory, context->sp, &flags))
			return false;
		context->sp += sizeof(uint64_t);
		context->flags = (context->flags & ~PATCH_FLAGS) | (flags & PATCH_FLAGS);
	}
	context->sp += spared.nr_bytes;
	return true;
}

static void move_out(void *owner, struct context *context)
{
	struct undoing *undoing = owner;
	uint64_t pc = context->pc, original;
	struct patch_saved saved;
	struct patch patch;
	size_t found = find_thread(undoing->patched, &pc, context->pushed[0], &patch, &saved);
	enum patch_place place;

	if (found == NO_PATCH || undoing->states[found] == PATCHED_OTHER)
		return;
	place = patch_original_pc(&patch, pc, &original);
	if (place == PATCH_ELSEWHERE)
		return;
	if (place == PATCH_AT_CALL || place == PATCH_NOTING) {
		undoing->is_stuck = true;
		return;
	}
	if (!leave_stub(undoing, context, &saved) || !pop(undoing, context, &patch, pc))
		return;
	context->pc = original;
	context->is_changed =
		place == PATCH_AT || target_memory_word(undoing->memory, original, &context->pc);
}

/*
 * Write each run right after a check that the sleepers still sleep: a thread that wakes then would
 * have to leave the kernel, and reach the bytes, before this call is over. A thread that woke
 * before may be in other code by now, and is moved like the others, and bytes are read again.
 * Several pages are read at once: while no thread runs they stay as they are.
 */
static bool write_all(const struct patched *patched, struct stopped *stopped,
		      struct target_memory *memory, enum run_step step,
		      const struct context_search *search)
{
	struct patched_bytes *all = patched_bytes_new(&patched->patches, memory, true);
	uint8_t bytes[RUN_BYTES + PATCH_MAX_BYTES];
	bool is_done = true;
	struct run run;

	for (size_t i = 0; i < patched->patches.nr; i += run.nr) {
		bool is_read, has_woken;

		run = run_from(patched, i);
		assert(run.nr_bytes <= sizeof(bytes));
		is_read = read_run(all, &run, bytes, memory);
		has_woken = stopped_hold(stopped);
		if (has_woken) {
			contexts_for_each(stopped, memory, search);
			stopped_write_back(stopped);
			patched_bytes_forget(all);
		}
		if (has_woken || is_word(patched, i))
			is_read = read_run(all, &run, bytes, memory);
		if (step == RUN_APPLY && is_read && !has_old_bytes(all, &run, bytes))
			is_done = false;
		else
			is_done &= is_read && step_run(&run, bytes, memory, step);
		if (step == RUN_APPLY && !is_done)
			break;
	}
	patched_bytes_free(all);
	return is_done;
}

static struct context_search search_thunks(struct undoing *undoing)
{
	return (struct context_search){.start = undoing->patched->thunk_start,
				       .end = undoing->patched->thunk_end,
				       .stack_bytes = STACK_BYTES_UNDO,
				       .found = move_out,
				       .owner = undoing};
}

bool patched_leave(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory, const uint8_t *states)
{
	struct undoing undoing = {.patched = patched, .states = states, .memory = memory};
	const struct context_search search = search_thunks(&undoing);

	return contexts_for_each(stopped, memory, &search) && !undoing.is_stuck;
}

bool patched_undo(const struct patched *patched, struct stopped *stopped,
		  struct target_memory *memory, const uint8_t *states)
{
	struct undoing undoing = {.patched = patched, .states = states, .memory = memory};
	const struct context_search search = search_thunks(&undoing);

	write_all(patched, stopped, memory, RUN_UNDO, &search);
	return patched_leave(patched, stopped, memory, states);
}

void patched_uncount(const struct patched *patched, struct target_memory *memory,
		     const uint8_t *states)
{
	for (size_t i = 0; i < patched->patches.nr; i++) {
		if (states[i] == PATCHED_OURS || states[i] == PATCHED_REPLACED)
			count_semaphore(memory, patched, i, -1);
	}
}

/* No thread has run the new bytes yet. */
static void take_back(const struct patched *patched, struct stopped *stopped,
		      struct target_memory *memory)
{
	cleanup_free uint8_t *states = xcalloc(patched->patches.nr + 1, sizeof(*states));

	patched_undo(patched, stopped, memory, states);
	patched_uncount(patched, memory, states);
}

bool patched_apply(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory)
{
	const struct context_search search = {.start = patched->start,
					      .end = patched->end,
					      .stack_bytes = STACK_BYTES_APPLY,
					      .found = move_in,
					      .owner = (void *)(uintptr_t)patched};

	if (contexts_need_sleeper(stopped, &search) || !count_semaphores(patched, memory))
		return false;
	/*
	 * Move threads first: thunks also work with the old bytes, and profc may be killed in
	 * between.
	 */
	contexts_for_each(stopped, memory, &search);
	stopped_write_back(stopped);
	if (write_all(patched, stopped, memory, RUN_APPLY, &search))
		return true;
	take_back(patched, stopped, memory);
	return false;
}

bool patched_original_pc(const struct patched *patched, pid_t pid, uint64_t pc, uint64_t link,
			 uint64_t *original, unsigned int *pushed_bytes)
{
	struct patch patch;
	struct patch_spared spared;
	struct patch_saved saved;
	enum patch_place place;

	*pushed_bytes = 0;
	if (pc < patched->thunk_start || pc >= patched->thunk_end)
		return false;
	if (find_thread(patched, &pc, link, &patch, &saved) == NO_PATCH)
		return false;
	place = patch_original_pc(&patch, pc, original);
	if (place == PATCH_ELSEWHERE)
		return false;
	*pushed_bytes = (unsigned int)sizeof(uint64_t) * patch_nr_pushed(&patch, pc);
	if (place == PATCH_AT_CALL)
		*pushed_bytes = sizeof(uint64_t);
	spared = patch_spared_at(&patch, pc);
	*pushed_bytes += saved.nr_bytes + (unsigned int)sizeof(uint64_t) * saved.nr_words;
	*pushed_bytes += spared.nr_bytes +
			 (unsigned int)sizeof(uint64_t) * (spared.has_flags + spared.has_first);
	if (place != PATCH_AT_WORD)
		return true;
	return target_memory_get_once(pid, *original, original, sizeof(*original));
}
