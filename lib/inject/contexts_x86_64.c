// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/contexts_machine.h"

#if defined(__x86_64__)

#include "inject/contexts.h"

void context_of_regs(const struct user_regs_struct *regs, struct context *context)
{
	*context = (struct context){.pc = regs->rip,
				    .sp = regs->rsp,
				    .flags = regs->eflags,
				    .pushed = {regs->rax, regs->rcx, regs->rdx},
				    .is_in_call = (int64_t)regs->orig_rax >= 0};
}

void context_to_regs(const struct context *context, struct user_regs_struct *regs)
{
	regs->rip = context->pc;
	regs->rsp = context->sp;
	regs->eflags = context->flags;
	regs->rax = context->pushed[0];
	regs->rcx = context->pushed[1];
	regs->rdx = context->pushed[2];
}

/*
 * A signal frame (struct sigcontext) has, in this order: ..., rdx, rax, rcx, rsp, rip, eflags, and
 * a word with cs in it.
 */
enum { RDX = -4, RAX = -3, RCX = -2, RSP = -1, RIP = 0, FLAGS = 1, SEGMENTS = 2 };

const unsigned int context_words_before = -RDX, context_words_after = SEGMENTS;
/*
 * The rest of struct sigcontext and of the frame, and the state of vector registers, of 576 bytes
 * at least, whose alignment of 64 lets an old frame lie 64 bytes above a new one: the pointer to
 * that state is then where the old one had the stack pointer.
 */
const uint64_t context_frame_bytes = 280 + 576;
const unsigned int context_words_changed = FLAGS - RDX + 1;

#define USER_CS	      0x33
#define FLAGS_ALWAYS  UINT64_C(0x2)
#define FLAGS_PRIVATE (~UINT64_C(0x3fffff) | UINT64_C(0x28))

bool context_of_frame(const uint64_t *pc, struct context *context)
{
	if ((pc[SEGMENTS] & 0xffff) != USER_CS || !(pc[FLAGS] & FLAGS_ALWAYS) ||
	    pc[FLAGS] & FLAGS_PRIVATE)
		return false;
	*context = (struct context){.pc = *pc,
				    .sp = pc[RSP],
				    .flags = pc[FLAGS],
				    .pushed = {pc[RAX], pc[RCX], pc[RDX]}};
	return true;
}

void context_to_frame(const struct context *context, const uint64_t *pc,
		      uint64_t words[CONTEXT_WORDS_MAX])
{
	(void)pc;
	words[0] = context->pushed[2]; /* the lowest of them: rdx */
	words[RAX - RDX] = context->pushed[0];
	words[RCX - RDX] = context->pushed[1];
	words[RSP - RDX] = context->sp;
	words[RIP - RDX] = context->pc;
	words[FLAGS - RDX] = context->flags;
}

#endif
