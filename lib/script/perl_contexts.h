/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_CONTEXTS_H
#define PROFC_SCRIPT_PERL_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "script/script_walk.h"

struct perl_layout;
struct perl_reader;

/* In the lowest bits of a context's first byte; the rest are flags, some of one kind only. */
enum perl_context_type {
	PERL_CONTEXT_NULL = 0,
	PERL_CONTEXT_SUB = 9,
	PERL_CONTEXT_FORMAT = 10,
	PERL_CONTEXT_EVAL = 11,
	PERL_CONTEXT_DEFER = 13,
};

#define PERL_CONTEXT_MASK 0x0f

/* How a context gets a loop of its own. */
enum perl_beginning {
	PERL_BEGINS_NONE,
	PERL_BEGINS_SUB,      /* a sub that returns to C was called from there */
	PERL_BEGINS_DIRECTLY, /* C runs its operations, again and again; not between two times */
	PERL_BEGINS_EVAL,     /* perhaps: its jump buffer tells */
};

/* A context that caller() knows, or that could begin a loop. */
struct perl_context {
	uint64_t code;	    /* of a sub, or an enum perl_place */
	uint64_t statement; /* the one that was current when it began */
	uint64_t jump;	    /* of an eval: the innermost jump buffer then */
	enum perl_beginning begins;
	bool is_fake; /* an eval that a function of C has begun, without operations */
	/* A sub that is called as the last operation of a block without an end: it seems to return
	 * to C, and may do so. */
	bool may_be_last;
	bool is_partial; /* it is just beginning or ending */
};

/* Goes through the contexts of an interpreter, the innermost first. */
struct perl_contexts {
	struct perl_reader *reader; /* borrowed, as is the layout */
	const struct perl_layout *layout;
	uint64_t contexts;	/* the array of the current stack */
	uint64_t previous;	/* the stack below */
	int32_t index, top;	/* in that array: the next one, and the innermost */
	int32_t sub_index;	/* of the next one of a sub, format or eval */
	int32_t type;		/* of the stack */
	unsigned int nr_stacks; /* so far */
	uint64_t nr_bytes;	/* of their contexts */
	enum script_outcome outcome;
};

/* Begin with the stack at `stack`. */
void perl_contexts_begin(struct perl_contexts *contexts, struct perl_reader *reader,
			 const struct perl_layout *layout, uint64_t stack);
/* False: there are no more, or the outcome is not SCRIPT_PROVED any longer. */
bool perl_contexts_next(struct perl_contexts *contexts, struct perl_context *context);

#endif
