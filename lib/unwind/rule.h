/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the rules that find callers. */
#ifndef PROFC_UNWIND_RULE_H
#define PROFC_UNWIND_RULE_H

#include <stdbool.h>

/*
 * The rules that find the row of a frame, and so its caller, in the order in which they are tried.
 * rules.c has each with its condition and the programs that need it.
 */
enum unwind_rule {
	UNWIND_RULE_NONE, /* no rule has found one; and of the leaf, which has no callee */

	/* The row of a place in a file's code, for all stacks. Where the CFI is missing: */
	UNWIND_RULE_GO_BOTTOM,
	UNWIND_RULE_ENTRY_FUNCTION,
	UNWIND_RULE_TO_RETURN,
	UNWIND_RULE_FROM_SYMBOL,
	UNWIND_RULE_FROM_CALL,
	UNWIND_RULE_FROM_REFERENCE,
	UNWIND_RULE_ENDLESS,
	UNWIND_RULE_TO_ZERO,
	UNWIND_RULE_FROM_GAP,
	/* where it is wrong: */
	UNWIND_RULE_GO_OWN_FP,
	UNWIND_RULE_GO_SWITCH,
	UNWIND_RULE_BEFORE_HANDLER,
	UNWIND_RULE_AT_HANDLER,
	UNWIND_RULE_SAVED_ABOVE_CFA,
	UNWIND_RULE_LONGJMP,
	UNWIND_RULE_CONTRADICTED,
	UNWIND_RULE_GO_FP,
	UNWIND_RULE_RESTORED_FP,
	/* and where it is right: */
	UNWIND_RULE_SIGNAL,
	UNWIND_RULE_LIBUNWIND,
	UNWIND_RULE_CFI,

	/* The row of a frame on one stack, if that of its place does not lead to a caller. */
	UNWIND_RULE_BY_SP,
	UNWIND_RULE_BY_HANDLER,
	UNWIND_RULE_BY_CALL,
	UNWIND_RULE_BY_CODE,
	UNWIND_RULE_JIT_ADAPTER,
	UNWIND_RULE_JIT,
	UNWIND_RULE_FRAME_POINTER,
	UNWIND_RULE_JIT_HOST,
	UNWIND_RULE_BY_SYMBOL,
	UNWIND_RULE_STACK_SWITCH,
	UNWIND_RULE_ZERO_FP,
	UNWIND_RULE_WILD_CALL,

	UNWIND_RULE_COUNT,
};

/* A few words. Never NULL. */
const char *unwind_rule_name(enum unwind_rule rule);

/* Does it take the CFI at its word? Then libunwind, which knows nothing else, agrees. */
bool unwind_rule_is_by_cfi(enum unwind_rule rule);

#endif
