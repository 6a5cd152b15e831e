/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of frames: known ones, and further facts about frames that follow from code. */
#ifndef PROFC_UNWIND_ROWS_H
#define PROFC_UNWIND_ROWS_H

#include "unwind/eh_landing.h"
#include "unwind/hot_rows.h"
#include "unwind/row.h"
#include "unwind/unwind_priv.h"

struct code_frame;
struct mapping;

/* The frame in search of its caller, and its registers. */
struct row_query {
	const struct walk *walk;
	const struct unwind_arch *arch;
	const struct unwind_frame *frame;
	const struct regs *regs;
	bool is_cfi_only; /* do not read code without CFI */
};

/* The mapping that a frame's code is in, or NULL. Borrowed until the next update of the space. */
const struct mapping *rows_mapping(const struct row_query *query);

/* The row of a frame, compiled on first use. It is a hot one from then on. */
struct row rows_find(struct rows *rows, const struct row_query *query);

/* The CFI of the module of `image`. Borrowed. */
struct module_cfi *rows_cfi(struct rows *rows, struct module_id id, struct elf_image *image);

/* Borrowed until the next rows_find(). */
const struct hot_rows *rows_hot(const struct rows *rows);

/* The frame as one in code without CFI. `mapping` is the one it is in; `image` may be NULL. */
struct code_frame rows_code_frame(const struct row_query *query, const struct mapping *mapping,
				  struct elf_image *image);

/*
 * An exception that lands: the unwinder has overwritten the return address of a call with the
 * landing pad's address.
 */
struct rows_landing {
	uint64_t pc;  /* of the landing pad, in the target */
	uint64_t cfa; /* of the frame that was called */
	/* The query's frame is not that one: that is gone, except for the words below the CFA. */
	bool is_gone;
	/* It may also be a return address, if there is a call before it. */
	bool is_doubtful;
};

/*
 * The return address before it was overwritten, if it follows from the function's table and code
 * and from the callee.
 */
enum eh_landing_calls rows_find_before_landing(struct rows *rows, const struct row_query *query,
					       const struct rows_landing *landing,
					       uint64_t *return_address);

/*
 * Does the code of this frame load another stack pointer on its path to the return (Go's
 * systemstack and asmcgocall, coroutines)? Then its caller is on another stack, whatever the CFI.
 */
bool rows_is_stack_base(struct rows *rows, const struct row_query *query);
/* Has it come from another stack, on its path from the entry (Go's mcall and morestack)? */
bool rows_has_switched_stack(struct rows *rows, const struct row_query *query);
/* Either of them. */
bool rows_is_first_of_stack(struct rows *rows, const struct row_query *query);

/* May `pc` be a return address: after a call, or anywhere in JIT-compiled code? */
bool rows_is_behind_call(struct rows *rows, const struct row_query *query, uint64_t pc);

/*
 * Is `pc`, found in place of a return address, the start of a function that no call precedes, such
 * as a signal handler's restorer, or makecontext(3)'s return from coroutines? True only at its
 * first occurrence; from then on its row is known.
 */
bool rows_begins_at(struct rows *rows, const struct walk *walk, uint64_t pc);

/* The caller of a function that has switched stacks. */
struct rows_behind {
	uint64_t pc, sp;
	uint64_t wanted_address; /* not 0: of memory that was not copied */
};

/*
 * The caller of the frame's function on the stack that the frame pointer points to: that has the
 * return address of a direct call to it, at the distance below the frame pointer that the CFI of
 * the call implies. False if that memory was not copied, or there is none.
 */
bool rows_find_behind_switch(struct rows *rows, const struct row_query *query,
			     struct rows_behind *behind);

#endif
