// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds where the threads of a stopped process will continue. */
#include "inject/contexts.h"

#if defined(__x86_64__)

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "inject/stopped.h"
#include "proc/target_memory.h"

static void in_registers(struct stopped_thread *thread, const struct context_search *search)
{
	struct user_regs_struct *regs = &thread->regs;
	struct context context = {.pc = regs->rip,
				  .sp = regs->rsp,
				  .pushed = {regs->rax, regs->rcx, regs->rdx},
				  .is_in_call = (int64_t)regs->orig_rax >= 0};

	if (context.pc < search->start || context.pc >= search->end)
		return;
	search->found(search->owner, &context);
	if (!context.is_changed)
		return;
	regs->rip = context.pc;
	regs->rsp = context.sp;
	regs->rax = context.pushed[0];
	regs->rcx = context.pushed[1];
	regs->rdx = context.pushed[2];
	thread->is_changed = true;
}

/*
 * A signal frame (struct sigcontext) has, in this order: ..., rdx, rax, rcx, rsp, rip, eflags, and
 * a word with cs in it. Such words are taken for a frame: no pointer but the pc of a context leads
 * into the middle of overwritten bytes, or into our code.
 */
enum { RDX = -4, RAX = -3, RCX = -2, RSP = -1, RIP = 0, FLAGS = 1, SEGMENTS = 2 };

#define USER_CS	      0x33
#define FLAGS_ALWAYS  UINT64_C(0x2)
#define FLAGS_PRIVATE (~UINT64_C(0x3fffff) | UINT64_C(0x28))

static bool is_frame(const uint64_t *rip)
{
	return (rip[SEGMENTS] & 0xffff) == USER_CS && rip[FLAGS] & FLAGS_ALWAYS &&
	       !(rip[FLAGS] & FLAGS_PRIVATE);
}

static void in_words(const uint64_t *words, size_t nr, uint64_t address,
		     struct target_memory *memory, const struct context_search *search)
{
	for (size_t i = 4; i + SEGMENTS < nr; i++) {
		const uint64_t *rip = &words[i];
		struct context context;
		uint64_t changed[5];

		if (*rip < search->start || *rip >= search->end || !is_frame(rip))
			continue;
		context = (struct context){
			.pc = *rip, .sp = rip[RSP], .pushed = {rip[RAX], rip[RCX], rip[RDX]}};
		search->found(search->owner, &context);
		if (!context.is_changed)
			continue;
		changed[0] = context.pushed[2];
		changed[1] = context.pushed[0];
		changed[2] = context.pushed[1];
		changed[3] = context.sp;
		changed[4] = context.pc;
		if (!target_memory_put(memory, address + (i - 4) * sizeof(uint64_t), changed,
				       sizeof(changed)))
			return; /* the stack is gone, and the frame with it */
	}
}

/* Searches a stack from its pointer on; `words` has room for search->stack_bytes. */
static void in_stack(uint64_t sp, struct target_memory *memory, const struct context_search *search,
		     uint64_t *words)
{
	uint64_t address = sp & ~UINT64_C(7);
	size_t got = target_memory_read_at_once(memory, address, words,
						search->stack_bytes & ~(size_t)7);

	in_words(words, got / sizeof(uint64_t), address, memory, search);
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
	uint64_t *words = xmalloc(search->stack_bytes);

	for (size_t i = 0; i < stopped->nr; i++) {
		struct stopped_thread *thread = &stopped->threads[i];

		if (!thread->is_stopped || thread->is_elsewhere)
			continue;
		in_stack(thread->regs.rsp, memory, search, words);
		in_registers(thread, search);
	}
	for (size_t i = 0; i < stopped->nr_sleepers; i++)
		in_stack(stopped->sleepers[i].sp, memory, search, words);
	free(words);
	return !contexts_need_sleeper(stopped, search);
}

#else

bool contexts_for_each(struct stopped *stopped, struct target_memory *memory,
		       const struct context_search *search)
{
	(void)stopped;
	(void)memory;
	(void)search;
	return true;
}

bool contexts_need_sleeper(const struct stopped *stopped, const struct context_search *search)
{
	(void)stopped;
	(void)search;
	return false;
}

#endif
