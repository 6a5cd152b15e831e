/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts that probes leave on the stack: each processor has its own (contexts_x86_64.c). */
#ifndef PROFC_INJECT_CONTEXTS_MACHINE_H
#define PROFC_INJECT_CONTEXTS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

struct context;

/* The context of registers, without is_changed; and back. */
void context_of_regs(const struct user_regs_struct *regs, struct context *context);
void context_to_regs(const struct context *context, struct user_regs_struct *regs);

/*
 * Words of a signal frame before the pc in it, of which some belong to a context, and words after
 * it, by which a frame is known.
 */
#define CONTEXT_WORDS_MAX 20
extern const unsigned int context_words_before, context_words_after;
/* The stack pointer in a frame leads to an address so many bytes after its pc, at least. */
extern const uint64_t context_frame_bytes;

/* Do the words around `pc` look like those of a signal frame? Then they give the context. */
bool context_of_frame(const uint64_t *pc, struct context *context);
/* The words of the frame from context_words_before on that belong to a context, with it in them. */
extern const unsigned int context_words_changed;
void context_to_frame(const struct context *context, const uint64_t *pc,
		      uint64_t words[CONTEXT_WORDS_MAX]);

#endif
