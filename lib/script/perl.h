/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_H
#define PROFC_SCRIPT_PERL_H

#include <stdint.h>

struct perl_layout;

/* Code of a function: addresses in its file, [start, end). */
struct perl_code {
	uint64_t start, end;
};

/* Functions of Perl that stacks show. */
enum perl_function {
	PERL_RUNOPS,   /* the loop that runs operations, one after the other */
	PERL_RUN,      /* begins the main program's loop */
	PERL_CALL_SV,  /* calls a sub from C */
	PERL_AMAGIC,   /* calls the sub of an overloaded operator */
	PERL_ENTERSUB, /* operations that begin and end a sub */
	PERL_LEAVESUB,
	PERL_LEAVESUBLV,
	PERL_RETURN,
	NR_PERL_FUNCTIONS,
};

/* Perl in an address space: what walks of its threads need. A plain value. */
struct perl {
	const struct perl_layout *layout; /* static */
	struct perl_code code[NR_PERL_FUNCTIONS];
	uint64_t runops;	/* the address of the loop */
	uint64_t keys;		/* as thread_keys_find() has it */
	uint32_t key;		/* its value is a thread's interpreter */
	uint64_t first_address; /* of the interpreter that was made first (PL_curinterp) */
};

/*
 * Frames that are of no sub have one of these in place of a function's object. All are less than
 * any address.
 */
enum perl_place {
	PERL_MAIN = 1,
	PERL_EVAL,   /* of a block */
	PERL_STRING, /* an eval of text */
	PERL_TRY,
	PERL_REQUIRE, /* a file that is compiled, or run for the first time */
	PERL_DO,
	PERL_SORT, /* a block that compares */
	PERL_DEFER,
	PERL_REGEX, /* code in a regular expression */
	PERL_FORMAT,
	PERL_PLACE_END,
};

#define PERL_KEYS_MAX 1024 /* of glibc */

#endif
