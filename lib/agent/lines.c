// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds new rows, and the definitions to send before them. */
#include "agent/lines_priv.h"

#include <stdlib.h>
#include <string.h>

#include "agent/write_priv.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "profile/profile.h"

/* The ids that were sent. Those beyond its end were not. */
struct told {
	uint8_t *at; /* owned: 0 or 1 */
	size_t nr, cap;
};

/* State that is sent again when it changes: processes and threads end or are renamed. */
struct told_state {
	bool is_told;
	struct str_id name;
	uint64_t end_ns;
};

struct told_states {
	struct told_state *at; /* owned */
	size_t nr, cap;
};

/* Definitions in pending lines: unmarked again if the lines are refused. */
struct undo {
	struct told **tables; /* owned, as ids */
	uint32_t *ids;
	size_t nr, cap_tables, cap_ids;
};

/* How far append-only tables were read. */
struct seen {
	size_t nr_jit_names, nr_allocations, nr_freed, nr_moments, nr_marks;
};

struct agent_lines {
	struct agent_outlet outlet;
	bool has_said_hello;
	struct buf text; /* pending lines */
	struct undo undo;
	struct told modules, frames, stacks, allocations;
	struct told_states processes, threads;
	uint32_t *jit_names; /* owned: by frame, its last row, counted from 1 */
	size_t nr_jit_names, cap_jit_names;
	uint64_t *calls; /* owned: by row of the counts, the last calls sent plus 1; 0: none sent */
	size_t nr_calls, cap_calls;
	struct seen seen;
};

struct agent_lines *agent_lines_new(const struct agent_outlet *outlet)
{
	struct agent_lines *lines = xcalloc(1, sizeof(*lines));

	lines->outlet = *outlet;
	return lines;
}

void agent_lines_free(struct agent_lines *lines)
{
	if (!lines)
		return;
	buf_release(&lines->text);
	free(lines->undo.tables);
	free(lines->undo.ids);
	free(lines->modules.at);
	free(lines->frames.at);
	free(lines->stacks.at);
	free(lines->allocations.at);
	free(lines->processes.at);
	free(lines->threads.at);
	free(lines->jit_names);
	free(lines->calls);
	free(lines);
}

static bool is_told(const struct told *told, uint32_t id)
{
	return id < told->nr && told->at[id];
}

/* Mark an id as sent; false: it was sent before. */
static bool tell(struct agent_lines *lines, struct told *told, uint32_t id)
{
	struct undo *undo = &lines->undo;

	if (is_told(told, id))
		return false;
	ARRAY_RESERVE(told->at, (size_t)id + 1, told->cap);
	while (told->nr <= id)
		told->at[told->nr++] = 0;
	told->at[id] = 1;
	ARRAY_GROW(undo->tables, undo->nr, undo->cap_tables);
	ARRAY_GROW(undo->ids, undo->nr, undo->cap_ids);
	undo->tables[undo->nr] = told;
	undo->ids[undo->nr++] = id;
	return true;
}

static void lose(const struct agent_lines *lines)
{
	lines->outlet.lose(lines->outlet.context);
}

static bool put(struct agent_lines *lines, bool is_row)
{
	struct undo *undo = &lines->undo;
	bool is_taken = lines->outlet.put(lines->outlet.context, &lines->text, is_row);

	while (!is_taken && undo->nr) {
		undo->nr--;
		undo->tables[undo->nr]->at[undo->ids[undo->nr]] = 0;
	}
	undo->nr = 0;
	if (!is_taken && is_row)
		lose(lines);
	buf_clear(&lines->text);
	return is_taken;
}

static bool is_full(const struct agent_lines *lines)
{
	return lines->outlet.is_full(lines->outlet.context);
}

static bool say_hello(struct agent_lines *lines, const struct profile *profile)
{
	if (!lines->has_said_hello) {
		agent_write_hello(&lines->text, profile);
		lines->has_said_hello = put(lines, false);
	}
	return lines->has_said_hello;
}

/* --- definitions --- */

static struct told_state *state_of(struct told_states *states, uint32_t id)
{
	ARRAY_RESERVE(states->at, (size_t)id + 1, states->cap);
	while (states->nr <= id)
		states->at[states->nr++] = (struct told_state){.is_told = false};
	return &states->at[id];
}

static bool is_current(const struct told_state *state, struct str_id name, uint64_t end_ns)
{
	return state->is_told && state->name.v == name.v && state->end_ns == end_ns;
}

static bool tell_process(struct agent_lines *lines, const struct profile *profile, uint32_t id)
{
	const struct profile_process *row = &profile->processes[id];
	struct told_state *state = state_of(&lines->processes, id);

	if (is_current(state, row->name, row->end_ns))
		return true;
	agent_write_process(&lines->text, profile, id);
	if (!put(lines, false))
		return false;
	*state = (struct told_state){.is_told = true, .name = row->name, .end_ns = row->end_ns};
	return true;
}

static bool tell_thread(struct agent_lines *lines, const struct profile *profile, uint32_t id)
{
	const struct profile_thread *row = &profile->threads[id];
	struct told_state *state = state_of(&lines->threads, id);

	if (is_current(state, row->name, row->end_ns))
		return true;
	agent_write_thread(&lines->text, profile, id);
	if (!put(lines, false))
		return false;
	*state = (struct told_state){.is_told = true, .name = row->name, .end_ns = row->end_ns};
	return true;
}

/* False: the outlet is full. Parents have smaller ids than their children, and are sent first. */
static bool tell_tasks(struct agent_lines *lines, const struct profile *profile)
{
	if (!say_hello(lines, profile))
		return false;
	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		if (!tell_process(lines, profile, i))
			return false;
	}
	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		if (!tell_thread(lines, profile, i))
			return false;
	}
	return true;
}

static const struct jit_name *name_of(const struct agent_lines *lines,
				      const struct profile *profile, struct frame_id frame)
{
	if (frame.v >= lines->nr_jit_names || !lines->jit_names[frame.v])
		return NULL;
	return &profile->jit.names[lines->jit_names[frame.v] - 1];
}

static void add_frame(struct agent_lines *lines, const struct profile *profile,
		      struct frame_id frame)
{
	struct module_id module = profile->frames[frame.v].where.module;

	if (!tell(lines, &lines->frames, frame.v))
		return;
	if (tell(lines, &lines->modules, module.v))
		agent_write_module(&lines->text, profile, module);
	agent_write_frame(&lines->text, profile, frame, name_of(lines, profile, frame));
}

static void add_stack(struct agent_lines *lines, const struct profile *profile,
		      struct stack_id stack)
{
	const struct stack_trie *stacks = profile->stacks;

	if (!tell(lines, &lines->stacks, stack.v))
		return;
	for (struct stack_id at = stack; at.v; at = stack_trie_parent(stacks, at))
		add_frame(lines, profile, stack_trie_frame(stacks, at));
	agent_write_stack(&lines->text, profile, stack);
}

/* Send frames with a new name. False: the outlet is full. */
static bool tell_jit_names(struct agent_lines *lines, const struct profile *profile)
{
	for (; lines->seen.nr_jit_names < profile->jit.nr_names; lines->seen.nr_jit_names++) {
		const struct jit_name *row = &profile->jit.names[lines->seen.nr_jit_names];

		ARRAY_RESERVE(lines->jit_names, (size_t)row->frame.v + 1, lines->cap_jit_names);
		while (lines->nr_jit_names <= row->frame.v)
			lines->jit_names[lines->nr_jit_names++] = 0;
		lines->jit_names[row->frame.v] = (uint32_t)lines->seen.nr_jit_names + 1;
		if (!is_told(&lines->frames, row->frame.v))
			continue;
		agent_write_frame(&lines->text, profile, row->frame, row);
		if (!put(lines, false))
			return false;
	}
	return true;
}

/* --- rows --- */

/* Is there room for a row? If not, it is lost. */
static bool has_room(struct agent_lines *lines, const struct profile *profile)
{
	if (!is_full(lines) && say_hello(lines, profile))
		return true;
	lose(lines);
	return false;
}

/* As above for a row of a thread, which is sent before. */
static bool may_tell(struct agent_lines *lines, const struct profile *profile,
		     struct thread_id thread)
{
	if (!has_room(lines, profile))
		return false;
	if (state_of(&lines->threads, thread.v)->is_told || tell_tasks(lines, profile))
		return true;
	lose(lines);
	return false;
}

static void look_at_samples(struct agent_lines *lines, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *row = &profile->samples[i];

		if (!may_tell(lines, profile, row->thread))
			continue;
		add_stack(lines, profile, row->stack);
		agent_write_sample(&lines->text, profile, row);
		put(lines, true);
	}
}

static void look_at_advances(struct agent_lines *lines, const struct profile *profile)
{
	for (size_t i = 0; i < profile->advances.nr; i++) {
		const struct profile_advance *row = &profile->advances.rows[i];

		if (!may_tell(lines, profile, row->thread))
			continue;
		add_stack(lines, profile, row->before);
		add_stack(lines, profile, row->after);
		agent_write_advance(&lines->text, row);
		put(lines, true);
	}
}

static void look_at_allocations(struct agent_lines *lines, const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;

	for (size_t i = lines->seen.nr_allocations; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];

		if (!may_tell(lines, profile, row->thread))
			continue;
		add_stack(lines, profile, row->stack);
		tell(lines, &lines->allocations, (uint32_t)i);
		agent_write_allocation(&lines->text, row, (uint32_t)i);
		put(lines, true);
	}
	lines->seen.nr_allocations = heap->nr_allocations;
	for (size_t i = lines->seen.nr_freed; i < heap->nr_freed; i++) {
		/* Frees of blocks that were lost are not sent. */
		if (!is_told(&lines->allocations, heap->freed[i]) || !has_room(lines, profile))
			continue;
		if (heap->allocations[heap->freed[i]].freed_end)
			add_stack(lines, profile, heap->allocations[heap->freed[i]].freed_stack);
		agent_write_free(&lines->text, &heap->allocations[heap->freed[i]], heap->freed[i]);
		put(lines, true);
	}
	lines->seen.nr_freed = heap->nr_freed;
}

static void look_at_moments(struct agent_lines *lines, const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;

	for (size_t i = lines->seen.nr_moments; i < heap->nr_moments; i++) {
		if (!has_room(lines, profile))
			continue;
		agent_write_memory(&lines->text, &heap->moments[i]);
		put(lines, true);
	}
	lines->seen.nr_moments = heap->nr_moments;
	for (size_t i = lines->seen.nr_marks; i < profile->nr_marks; i++) {
		if (!has_room(lines, profile))
			continue;
		agent_write_mark(&lines->text, profile, &profile->marks[i]);
		put(lines, true);
	}
	lines->seen.nr_marks = profile->nr_marks;
}

/* These are sent with their current values: a row that is not taken is sent the next time. */
static void look_at_counts(struct agent_lines *lines, const struct profile *profile)
{
	const struct profile_probes *probes = &profile->probes;

	ARRAY_RESERVE(lines->calls, probes->nr_counts, lines->cap_calls);
	while (lines->nr_calls < probes->nr_counts)
		lines->calls[lines->nr_calls++] = 0;
	for (uint32_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *row = &probes->counts[i];

		if (lines->calls[i] == row->calls + 1)
			continue;
		if (is_full(lines) || !say_hello(lines, profile))
			return;
		add_frame(lines, profile, row->where);
		if (row->callee.v != COUNT_NO_CALLEE.v)
			add_frame(lines, profile, row->callee);
		agent_write_count(&lines->text, row, i);
		if (put(lines, false))
			lines->calls[i] = row->calls + 1;
	}
}

void agent_lines_look(struct agent_lines *lines, const struct profile *profile)
{
	if (!is_full(lines) && tell_tasks(lines, profile))
		tell_jit_names(lines, profile);
	look_at_samples(lines, profile);
	look_at_advances(lines, profile);
	look_at_allocations(lines, profile);
	look_at_moments(lines, profile);
	look_at_counts(lines, profile);
}
