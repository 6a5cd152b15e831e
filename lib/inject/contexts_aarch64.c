// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/contexts_machine.h"

#if defined(__aarch64__)

#include <string.h>

#include "inject/contexts.h"

/*
 * Probes push x17, x16, x15 and x14, in the order of context.pushed. An interrupted call has its
 * result, or is at its instruction again, before a tracer sees the thread.
 */
enum { PUSHED_FIRST = 17, PUSHED_LAST = PUSHED_FIRST - PATCH_MAX_PUSHED + 1 };

void context_of_regs(const struct user_regs_struct *regs, struct context *context)
{
	*context = (struct context){.pc = regs->pc, .sp = regs->sp};
	for (unsigned int i = 0; i < PATCH_MAX_PUSHED; i++)
		context->pushed[i] = regs->regs[PUSHED_FIRST - i];
}

void context_to_regs(const struct context *context, struct user_regs_struct *regs)
{
	regs->pc = context->pc;
	regs->sp = context->sp;
	for (unsigned int i = 0; i < PATCH_MAX_PUSHED; i++)
		regs->regs[PUSHED_FIRST - i] = context->pushed[i];
}

/* A signal frame (struct sigcontext) has, in this order: ..., x0 to x30, sp, pc, pstate. */
enum { X0 = -32, SP = -1, PSTATE = 1, LAST = X0 + PUSHED_LAST };

const unsigned int context_words_before = -LAST, context_words_after = PSTATE;
const unsigned int context_words_changed = 1 - LAST;
/* The state of vector registers follows, in 4096 bytes. */
const uint64_t context_frame_bytes = 4096;

_Static_assert(-LAST < CONTEXT_WORDS_MAX, "there is room");

/* Bits of pstate that are 0 in 64-bit code of a program: its mode, and the masks of exceptions. */
#define PSTATE_PRIVATE (~UINT64_C(0xffffffff) | UINT64_C(0x3df))
#define SP_ALIGNMENT   16

bool context_of_frame(const uint64_t *pc, struct context *context)
{
	if (pc[PSTATE] & PSTATE_PRIVATE || pc[SP] % SP_ALIGNMENT)
		return false;
	*context = (struct context){.pc = *pc, .sp = pc[SP]};
	for (unsigned int i = 0; i < PATCH_MAX_PUSHED; i++)
		context->pushed[i] = pc[X0 + PUSHED_FIRST - (int)i];
	return true;
}

void context_to_frame(const struct context *context, const uint64_t *pc,
		      uint64_t words[CONTEXT_WORDS_MAX])
{
	memcpy(words, pc + LAST, (size_t)(1 - LAST) * sizeof(*words));
	for (unsigned int i = 0; i < PATCH_MAX_PUSHED; i++)
		words[X0 + PUSHED_FIRST - (int)i - LAST] = context->pushed[i];
	words[SP - LAST] = context->sp;
	words[-LAST] = context->pc;
}

#endif
