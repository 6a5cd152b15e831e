/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_EXPAND_H
#define PROFC_CALLTREE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct buf;

/*
 * The step that every view and every export shares: from the code addresses of a profile to the
 * names that people know. Each frame becomes one or more levels (its inline chain opened, outermost
 * caller first), once for the whole profile, so that the levels of any stack are those of its
 * frames in a row.
 *
 * Ids are indexes into the tables of struct expansion, which are only read after expansion_new().
 */

enum label_kind {
	LABEL_FUNCTION,	    /* a named function of a module */
	LABEL_ADDRESS,	    /* code of no known function: [module+0xaddress] */
	LABEL_UNKNOWN,	    /* a pc outside every known mapping: [unknown] */
	LABEL_ELIDED,	    /* [N frames left out]: the middle of a stack beyond --max-depth */
	LABEL_UNATTRIBUTED, /* time without a known stack: [unattributed] */
	LABEL_NO_STACK,	    /* the thread's stack could not be taken: [no stack] */
	LABEL_TRUNCATED,    /* replaces missing callers: [truncated: no CFI] */
	LABEL_INDIRECT,	    /* the unknown callee of counted calls */
	LABEL_UNSAMPLED,    /* the parent of functions that were counted and are in no sample */
	LABEL_HIDDEN,	    /* all functions of a stack are hidden: [hidden] */
	LABEL_BETWEEN,	    /* code that ran between two samples: [between samples] */
	LABEL_NATIVE,	    /* in tables of functions of scripts, stacks without any: [native] */
	LABEL_PAGE_FAULT, /* [page fault], below code in trees: the kernel's work for its faults */
};

/* The names in a module will be looked up: until then all its code without one is one label. */
#define LABEL_AWAITED UINT64_MAX

/*
 * The name of a level; a row of the function table and a frame of a flame graph is one label. Two
 * labels are the same function when name, file and module are equal: clones, template copies with
 * one demangled name and inlined copies become one. Functions of scripts must begin at the same
 * line, too: a script may have many that are called <lambda>, (anonymous), {closure} or __ANON__.
 */
struct label {
	enum label_kind kind;
	struct module_id module;     /* FUNCTION, ADDRESS; else MODULE_UNKNOWN */
	struct function_id function; /* FUNCTION: a row of profile.symbols.functions; else 0 */
	/* ADDRESS: the address, or LABEL_AWAITED; ELIDED: frames; TRUNCATED: enum stack_end */
	uint64_t number;
};

/* A distinct (label, file, line): a level's place in a function. line 0: unknown. */
struct place {
	uint32_t label;
	struct str_id
		file; /* of the line, which may differ from the function's own; may be empty */
	uint32_t line;
};

struct level {
	uint32_t label;
	uint32_t place;
	bool inlined; /* this copy was inlined into the level before it */
};

/* The levels of one frame, levels[first] … levels[first + nr - 1], outermost first; nr >= 1. */
struct frame_levels {
	uint32_t first, nr;
};

struct expansion {
	const struct profile *profile; /* borrowed */
	struct label *labels;	       /* distinct */
	size_t nr_labels, cap_labels;
	struct place *places; /* distinct */
	size_t nr_places, cap_places;
	struct level *levels;
	size_t nr_levels, cap_levels;
	struct frame_levels *frames; /* by frame_id */
	struct level unattributed, no_stack, indirect, unsampled, hidden, page_fault, native;
	struct level truncated[STACK_END_COUNT]; /* by enum stack_end */
	bool is_of_samples;			 /* expansion_new_of_samples() made it */
};

/*
 * Expand a profile, which must outlive the result and not change meanwhile. With fold_inlines every
 * frame has one level: the function that physically contains its code, at the line of the outermost
 * call in it.
 */
struct expansion *expansion_new(const struct profile *profile, bool fold_inlines);
/*
 * The same without frames that are in no stack and no wait, which are those of counted functions:
 * there may be a hundred thousand of them. With it no counts are known (counts.h).
 */
struct expansion *expansion_new_of_samples(const struct profile *profile);
void expansion_free(struct expansion *expansion);

/*
 * The level that replaces the callers missing at the root of a sample's stack: unattributed, no
 * stack, truncated; NULL when the stack is whole. Borrowed.
 */
const struct level *expansion_root_level(const struct expansion *expansion,
					 const struct sample *sample);

/*
 * The level that physically contains a frame's code; and the one that has its instruction in its
 * source. Borrowed.
 */
const struct level *expansion_outermost(const struct expansion *expansion, struct frame_id frame);
const struct level *expansion_innermost(const struct expansion *expansion, struct frame_id frame);

/* A reusable list of levels, root first. Zero-initialised is empty. */
struct level_list {
	struct level *levels; /* owned */
	size_t nr, cap;
};

void level_list_release(struct level_list *list);
/* Replace the content of list by all levels of a sample, root first, never none. */
void expansion_stack(const struct expansion *expansion, const struct sample *sample,
		     struct level_list *list);

enum name_style {
	NAME_FULL,
	NAME_SHORT, /* without template arguments and parameters */
};

/* Append the name of a label. Raw target text: escape it for its destination. */
void label_append_name(struct buf *out, const struct expansion *expansion, uint32_t label,
		       enum name_style style);
/*
 * Append " (app.py:12)", where a function of a script begins; to the names of others, nothing. Many
 * scripts have functions of one name, as <module>, so a name alone says little. Raw target text.
 */
void label_append_place(struct buf *out, const struct expansion *expansion, uint32_t label);
/*
 * Is one of the names that users may give for a label meant? They are its name in full, without the
 * type of its result, and short; that of C functions in the symbol table (__libc_write for write);
 * and those of functions that share its code.
 */
bool label_is_meant(const struct expansion *expansion, uint32_t label,
		    bool (*is_meant)(const void *context, const char *name), const void *context);
/*
 * The names of other functions that have the same code, one a line; empty: none is known. Borrowed
 * from the profile.
 */
const char *label_shared_names(const struct expansion *expansion, uint32_t label);
/* Has the code no name but one made from its address: [module+0x...]? */
bool label_is_nameless(const struct expansion *expansion, uint32_t label);
/* Is it a function of a script? */
bool label_is_script(const struct expansion *expansion, uint32_t label);
/* Is it code of a module, with a name or without? */
bool label_is_code(const struct expansion *expansion, uint32_t label);
/* The function's row, or NULL for every kind but LABEL_FUNCTION. Borrowed from the profile. */
const struct function *label_function(const struct expansion *expansion, uint32_t label);
/* The module, or NULL for labels without one. Borrowed from the profile. */
const struct module *label_module(const struct expansion *expansion, uint32_t label);

#endif
