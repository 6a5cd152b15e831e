/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_BASELINE_H
#define PROFC_SCRIPT_V8_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;
struct v8_layout;

/*
 * The code that V8's baseline compiler has made of a function: one piece for each of its bytecodes,
 * in their order. All functions here read the memory of a process that runs on.
 */
struct v8_baseline {
	uint64_t object;    /* the address of its Code */
	uint64_t start;	    /* of its instructions */
	uint64_t bytecodes; /* a pointer to what it was made of */
	uint64_t ends;	    /* likewise, to where the pieces end */
	uint32_t nr_bytes;
};

/*
 * The code that the SharedFunctionInfo at `shared` leads to, by two reads: cheap enough for each
 * sample. False: it leads to none of that kind. That it is a Code indeed is not checked here.
 */
bool v8_baseline_find(const struct v8_layout *layout, struct space *space, uint64_t shared,
		      struct v8_baseline *code);

/*
 * The position in the source of the instruction at `pc`. False: the bytecodes and the ends do not
 * match, it is not in the piece of one, or that has no position.
 */
bool v8_baseline_position(const struct v8_layout *layout, struct space *space,
			  const struct v8_baseline *code, uint64_t pc, uint32_t *position);

/* Bytes, borrowed. */
struct v8_bytes {
	const uint8_t *at;
	size_t nr;
};

/*
 * The offset of the bytecode whose piece has byte `at` of the code; `ends` has the length of what
 * comes before the first piece, and of each. False: none, or there are not as many pieces as there
 * are bytecodes, all within `nr_code_bytes`.
 */
bool v8_baseline_offset(const struct v8_layout *layout, struct v8_bytes bytecodes,
			struct v8_bytes ends, uint32_t nr_code_bytes, uint32_t at,
			uint32_t *offset);

#endif
