/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_CODE_WAYS_X86_64_H
#define PROFC_UNWIND_CODE_WAYS_X86_64_H

#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/*
 * The effect of x86-64 code on the stack and the frame pointer, on its paths from one address to
 * another, or to a return. No condition is evaluated: each branch is followed either way.
 */

/* An address on the stack, relative to the registers at the start of a search. */
enum way_base {
	BASE_RSP,
	BASE_RBP,
	BASE_NONE, /* unknown */
};

struct way_place {
	enum way_base base;
	int64_t offset;
};

enum rbp_kind {
	RBP_AS_IT_WAS,
	RBP_IS_PLACE,	 /* an address on the stack: a frame pointer */
	RBP_FROM_MEMORY, /* the word that was at a place */
	RBP_LOST,
};

/* The state before an instruction. */
struct way_state {
	uint64_t pc;
	struct way_place rsp;
	enum rbp_kind rbp_kind;
	struct way_place rbp;
	struct way_place saved_rbp; /* where the first rbp was stored; BASE_NONE: nowhere */
	/* the part of rsp that register copy_reg holds; BASE_NONE: unknown */
	struct way_place copy;
	uint8_t copy_reg;
	bool has_copy;
	uint16_t restored; /* registers with values loaded from this stack */
	bool is_switched;  /* rsp was loaded with an unknown value: it may be on another stack */
};

enum way_end {
	WAY_FOUND,
	WAY_OPEN,   /* not found, but some path could not be followed to its end */
	WAY_CLOSED, /* every path loops or halts: none reaches the goal */
};

/* The start and the limits of a search. */
struct way {
	uint64_t pc;
	uint64_t goal; /* 0: a return */
	uint64_t function_end;
	bool after_call;
};

/*
 * A PLT's first entry pushes a word of its own onto the word that the entry before it pushed, and
 * jumps to the resolver with both.
 */
#define PLT_PUSHED 16

/*
 * To a goal all paths are followed, as far as possible: *found has the members that they agree on
 * there. To a return one path is enough. If nothing is found, found->is_switched is set if any path
 * has loaded another stack pointer.
 */
enum way_end code_search_ways(const struct elf_image *image, const struct way *way,
			      struct way_state *found);

static inline struct way_place way_place_moved(struct way_place place, int64_t by)
{
	place.offset += by;
	return place;
}

#endif
