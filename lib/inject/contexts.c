// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds where the threads of a stopped process will continue. */
#include "inject/contexts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "inject/contexts_machine.h"
#include "inject/machine.h"
#include "inject/stopped.h"
#include "proc/target_memory.h"

static void in_registers(struct stopped_thread *thread, const struct context_search *search)
{
	struct context context = {.pc = 0};

	if (inject_pc(&thread->regs) < search->start || inject_pc(&thread->regs) >= search->end)
		return;
	context_of_regs(&thread->regs, &context);
	search->found(search->owner, &context);
	if (!context.is_changed)
		return;
	context_to_regs(&context, &thread->regs);
	thread->is_changed = true;
}

/*
 * Words that look like those of a signal frame are taken for one: no pointer but the pc of a
 * context leads into the middle of overwritten bytes, or into our code.
 */
static void in_words(const uint64_t *words, size_t nr, uint64_t address,
		     struct target_memory *memory, const struct context_search *search)
{
	for (size_t i = context_words_before; i + context_words_after < nr; i++) {
		struct context context = {.pc = 0};
		uint64_t changed[CONTEXT_WORDS_MAX];

		if (words[i] < search->start || words[i] >= search->end ||
		    !context_of_frame(&words[i], &context) ||
		    context.sp - (address + i * sizeof(uint64_t)) < context_frame_bytes)
			continue;
		search->found(search->owner, &context);
		if (!context.is_changed)
			continue;
		context_to_frame(&context, &words[i], changed);
		if (!target_memory_put(memory,
				       address + (i - context_words_before) * sizeof(uint64_t),
				       changed, context_words_changed * sizeof(uint64_t)))
			return; /* the stack is gone, and the frame with it */
	}
}

/*
 * Searches a stack from its pointer on; `words` has room for CONTEXTS_PIECE_BYTES, in which it is
 * read: a new buffer for all of it costs a fault for each page, some milliseconds in some machines,
 * and a thread that wakes more often never sleeps meanwhile.
 */
static void in_stack(uint64_t sp, struct target_memory *memory, const struct context_search *search,
		     uint64_t *words)
{
	const size_t again = (context_words_before + context_words_after) * sizeof(uint64_t);
	uint64_t address = sp & ~UINT64_C(7);
	size_t left = search->stack_bytes & ~(size_t)7;

	for (;;) {
		size_t wanted = left < CONTEXTS_PIECE_BYTES ? left : CONTEXTS_PIECE_BYTES;
		size_t got = target_memory_read_at_once(memory, address, words, wanted);

		in_words(words, got / sizeof(uint64_t), address, memory, search);
		if (got < wanted || wanted == left)
			return;
		address += got - again;
		left -= got - again;
	}
}

bool contexts_need_sleeper(const struct stopped *stopped, const struct context_search *search)
{
	bool is_needed = false;

	for (size_t i = 0; i < stopped->nr_sleepers; i++) {
		const struct stopped_sleeper *sleeper = &stopped->sleepers[i];
		struct context context = {.pc = sleeper->pc, .sp = sleeper->sp, .is_in_call = true};

		if (context.pc < search->start || context.pc >= search->end)
			continue;
		search->found(search->owner, &context);
		is_needed |= context.is_changed;
	}
	return is_needed;
}

bool contexts_for_each(struct stopped *stopped, struct target_memory *memory,
		       const struct context_search *search)
{
	uint64_t *words = xmalloc(CONTEXTS_PIECE_BYTES);

	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (!thread->is_stopped || thread->is_elsewhere)
			continue;
		in_stack(inject_stack_pointer(&thread->regs), memory, search, words);
		in_registers(thread, search);
	}
	for (size_t i = 0; i < stopped->nr_sleepers; i++)
		in_stack(stopped->sleepers[i].sp, memory, search, words);
	free(words);
	return !contexts_need_sleeper(stopped, search);
}
