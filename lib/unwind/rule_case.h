/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame in search of a rule that finds its caller. */
#ifndef PROFC_UNWIND_RULE_CASE_H
#define PROFC_UNWIND_RULE_CASE_H

#include "unwind/code_walk.h"
#include "unwind/eh_context.h"
#include "unwind/rows.h"

struct module_cfi;

/* Why rules of the stack are asked. */
enum rule_want {
	RULE_WANT_NOTHING, /* they are not: it is the row of a place */
	RULE_WANT_FP,	   /* the row needs the frame pointer, which is unknown */
	RULE_WANT_REGS,	   /* it needs other registers, and libunwind does not know them either */
	RULE_WANT_ROW,	   /* there is none */
	RULE_WANT_RECORD,  /* the user asked for frame pointers alone */
	RULE_WANT_CODE,	   /* the frame is outside of all code */
};

/* A frame, and what rules have found out about it. */
struct rule_case {
	struct rows *rows;
	const struct row_query *query;
	struct code_frame code; /* mapping and image are NULL if it is in none */
	struct module_cfi *cfi; /* of the image; NULL without */
	struct row known;	/* the row by CFI; to rules of the stack the row of the place */

	/* For rules of places: */
	uint64_t entry;	    /* of the function */
	struct row forward; /* by the path to a return; ROW_EMPTY: not followed yet */
	struct row entered; /* by the path from the symbol's entry, likewise */

	/* For rules of the stack: */
	enum rule_want want;
	const struct eh_notes *eh;
	/* The caller's stack pointer by HotSpot's interpreter, or any word; see row_walk.c. */
	uint64_t sender_sp;
	struct code_host host; /* the current candidate of a rule with trials */
	/* Why the walk ends if no rule finds a caller, and the address that was missing, or 0. */
	enum stack_end end;
	uint64_t wanted_address;
};

#endif
