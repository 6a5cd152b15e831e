/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a thread that runs Python, made up for each known version. On the native stack are,
 * from the leaf on, a function of a library, an evaluation, another library, and another
 *evaluation:
 *
 *	leaf -> library        (native frame 0)
 *	inner, gen, middle     (1: `middle` has called a generator, that `inner`)
 *	library                (2)
 *	outer                  (3)
 *	main of the interpreter (4)
 */
#ifndef PROFC_TESTS_UNIT_MADE_PYTHON_H
#define PROFC_TESTS_UNIT_MADE_PYTHON_H

#include <assert.h>
#include <string.h>

#include "script/cpython.h"
#include "snapshot/snapshot.h"

#define MADE_STACK     UINT64_C(0x7ffe00000000)
#define MADE_STATE     UINT64_C(0x555500001000)
#define MADE_CHUNK     UINT64_C(0x7fff00000000)
#define MADE_GENERATOR UINT64_C(0x555500005000)
#define MADE_THREAD    UINT64_C(0x7ffd00000740)
#define MADE_CODE_TYPE UINT64_C(0x555500009000)
#define MADE_GEN_TYPE  UINT64_C(0x555500009400)
#define MADE_ANCHOR(n) (MADE_STACK + 0x110 + (uint64_t)(n)*0x100) /* in native frame n */

enum made_function { MADE_INNER, MADE_GEN, MADE_MIDDLE, MADE_OUTER, NR_MADE_FUNCTIONS };

#define MADE_CODE(function) (UINT64_C(0x55550000a000) + (uint64_t)(function)*0x400)
#define NR_MADE_NATIVES	    5

struct made_python {
	struct cpython python;
	struct snapshot snapshot;
	struct script_native natives[NR_MADE_NATIVES];
	uint64_t frames[NR_MADE_FUNCTIONS]; /* addresses */
};

static inline uint8_t *made_python_at(struct made_python *made, uint64_t address)
{
	for (unsigned int i = 0; i < made->snapshot.nr_regions; i++) {
		const struct stack_region *region = &made->snapshot.regions[i];

		if (address - region->start < region->nr_bytes)
			return made->snapshot.bytes + region->offset + (address - region->start);
	}
	assert(false);
	return NULL;
}

static inline void made_python_put(struct made_python *made, uint64_t address, uint64_t word)
{
	memcpy(made_python_at(made, address), &word, sizeof(word));
}

static inline void made_python_region(struct made_python *made, uint64_t start, size_t nr_bytes)
{
	uint8_t *room = snapshot_add_region(&made->snapshot, start, nr_bytes);

	assert(room);
	memset(room, 0, nr_bytes);
}

static inline void made_python_frame(struct made_python *made, uint64_t at, uint64_t code,
				     uint64_t previous, uint8_t owner)
{
	const struct cpython_frame_layout *frame = &made->python.layout.frame;

	made_python_put(made, at + frame->code, code);
	made_python_put(made, at + frame->previous, previous);
	made_python_put(made, at + frame->instruction,
			code + made->python.layout.code.instructions + 8);
	*made_python_at(made, at + frame->owner) = owner;
}

/* The frame that an evaluation leads on to, of its outermost function `at`. */
static inline uint64_t made_python_entry(struct made_python *made, uint64_t at, unsigned int native,
					 uint64_t below)
{
	const struct cpython_layout *layout = &made->python.layout;
	uint64_t entry = MADE_ANCHOR(native);

	if (!layout->has_entry_frames) {
		*made_python_at(made, at + layout->frame.is_entry) = 1;
		made_python_put(made, at + layout->frame.previous, below);
		return at;
	}
	entry += layout->has_cframes ? 0x20 : 0;
	made_python_put(made, at + layout->frame.previous, entry);
	made_python_frame(made, entry, 0, below, 3);
	return entry;
}

static inline void made_python_cframes(struct made_python *made)
{
	const struct cpython_layout *layout = &made->python.layout;
	uint64_t root = MADE_STATE + layout->thread.root_cframe;

	made_python_put(made, MADE_STATE + layout->thread.cframe, MADE_ANCHOR(1));
	made_python_put(made, MADE_ANCHOR(1) + layout->frame.cframe_frame,
			made->frames[MADE_INNER]);
	made_python_put(made, MADE_ANCHOR(1) + layout->frame.cframe_previous, MADE_ANCHOR(3));
	made_python_put(made, MADE_ANCHOR(3) + layout->frame.cframe_frame,
			made->frames[MADE_OUTER]);
	made_python_put(made, MADE_ANCHOR(3) + layout->frame.cframe_previous, root);
}

static inline void made_python_frames(struct made_python *made)
{
	const struct cpython_layout *layout = &made->python.layout;
	uint64_t *frames = made->frames;

	frames[MADE_OUTER] = MADE_CHUNK + 24;
	frames[MADE_MIDDLE] = MADE_CHUNK + 24 + 0x60;
	frames[MADE_GEN] = MADE_GENERATOR + layout->generator_frame;
	frames[MADE_INNER] = MADE_CHUNK + 24 + 0xc0;
	made_python_frame(made, frames[MADE_OUTER], MADE_CODE(MADE_OUTER), 0, 0);
	made_python_frame(made, frames[MADE_MIDDLE], MADE_CODE(MADE_MIDDLE), 0, 0);
	made_python_frame(made, frames[MADE_GEN], MADE_CODE(MADE_GEN), frames[MADE_MIDDLE], 1);
	made_python_frame(made, frames[MADE_INNER], MADE_CODE(MADE_INNER), frames[MADE_GEN], 0);
	made_python_put(made, MADE_GENERATOR + 8, MADE_GEN_TYPE);
	made_python_entry(made, frames[MADE_OUTER], 3, 0);
	made_python_entry(made, frames[MADE_MIDDLE], 1, frames[MADE_OUTER]);
}

/* `version` has to be known. To be released by snapshot_release(). */
static inline void made_python_init(struct made_python *made, uint64_t version)
{
	const struct cpython_layout *layout = cpython_layout_of(version);

	assert(layout);
	*made = (struct made_python){.python = {.layout = *layout,
						.code_type = MADE_CODE_TYPE,
						.generator_types = {MADE_GEN_TYPE, 1, 2}}};
	made_python_region(made, MADE_STACK, 0x500);
	made_python_region(made, MADE_STATE, 0x200);
	made_python_region(made, MADE_CHUNK, 0x180);
	made_python_region(made, MADE_GENERATOR, 0xa0);
	for (unsigned int i = 0; i < NR_MADE_NATIVES; i++)
		made->natives[i] = (struct script_native){.sp = MADE_STACK + 0x100 + i * 0x100,
							  .is_interpreter = i % 2 || i == 4};
	made_python_put(made, MADE_CHUNK + 8, 0x4000);
	made->snapshot.thread_pointer = MADE_THREAD;
	made_python_put(made, MADE_STATE + layout->thread.id, MADE_THREAD);
	made_python_put(made, MADE_STATE + layout->thread.chunk, MADE_CHUNK);
	made_python_put(made, MADE_STATE + layout->thread.chunk_top, MADE_CHUNK + 0x180);
	made_python_frames(made);
	if (layout->has_cframes)
		made_python_cframes(made);
	else
		made_python_put(made, MADE_STATE + layout->thread.frame, made->frames[MADE_INNER]);
}

#endif
