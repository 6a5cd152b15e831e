/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of one walk, and functions shared by the walks of this room. */
#ifndef PROFC_UNWIND_UNWIND_PRIV_H
#define PROFC_UNWIND_UNWIND_PRIV_H

#include <stdatomic.h>

#include "unwind/unwind.h"

struct libunwind_spaces;
struct rows;

/*
 * The work of walks, in units of some ten nanoseconds: a word read, a byte of unwind instructions,
 * an instruction of code. Targets choose all of these, so this bounds walks.
 */
struct walk_work {
	uint64_t done;
	uint64_t limit;		  /* of `done`: the walk ends there */
	const atomic_bool *ended; /* NULL, or borrowed: once set, walks end at once */
};

/* The approximate cost of following a function's code, most of which is short. */
#define WALK_WORK_OF_CODE 256
/* The approximate cost of reading the instruction before an address of a file. */
#define WALK_WORK_OF_CALL 8

/* The state of one walk. */
struct walk {
	struct walk_work *work; /* never NULL */
	struct space *space;
	const struct snapshot *snapshot;
	const struct unwind_memory *memory; /* may be NULL */
	struct unwind_walk *out;
	size_t max_depth;		   /* 0: no limit */
	size_t nr_pushed;		   /* frames found, including those left out */
	size_t nr_fp_frames, nr_libunwind; /* found so */
	unsigned int trial_depth;	   /* above 0: begins after a call, see struct rule */
	bool ended_by_zero;		   /* at a return address of 0 */
};

/* Without any limit of the user's, a walk still has this one. */
#define WALK_FRAMES_MAX (UINT32_C(1) << 22)

static inline void walk_work_add(const struct walk *walk, uint64_t amount)
{
	walk->work->done += amount;
}

/* Has it done all the work it may? Then it ends with STACK_END_COSTLY. */
static inline bool walk_is_over(const struct walk *walk)
{
	const struct walk_work *work = walk->work;

	return work->done >= work->limit ||
	       (work->ended && atomic_load_explicit(work->ended, memory_order_relaxed));
}

/* Eight bytes of the stack, from the snapshot or from memory beyond it. */
bool walk_read(const struct walk *walk, uint64_t address, uint64_t *value);

/*
 * Add the caller of the frame added last (the first one is the leaf). Once the limit is reached the
 * frames nearest to the leaf stay and those nearest to the root follow each other in a ring. False,
 * with the end noted, if the walk cannot continue: the pc is 0, which ends stacks without an end in
 * the CFI, but proves nothing by itself; or it is in no executable mapping; or there are too many
 * frames. Such a frame is left out, unless it is the leaf or a signal struck there.
 */
bool walk_push(struct walk *walk, const struct unwind_frame *frame);

/* The frame at pc, with its lookup. */
struct unwind_frame walk_frame(const struct walk *walk, uint64_t pc, uint64_t sp, bool is_exact,
			       enum unwind_rule rule);

/* Note why the walk ended. `pc` is where it could not continue; 0 with STACK_END_ROOT. */
void walk_end(struct walk *walk, enum stack_end end, uint64_t pc);
/* As walk_end() with STACK_END_BAD_MEMORY and the missing address. */
void walk_end_at(struct walk *walk, uint64_t pc, uint64_t wanted_address);

/* Put the frames kept in the ring into order. Call once, at the end of a walk. */
void walk_finish(struct walk *walk);

/* The compiled rows of all modules seen. `work`, borrowed, counts all walks with them. */
struct rows *rows_new(struct walk_work *work);
void rows_free(struct rows *rows);
uint64_t rows_nr_compiled(const struct rows *rows);
/*
 * Walk by rows and, unless `kind` is UNWINDER_CFI, by frame pointers where there are none; by frame
 * pointers alone with UNWINDER_FP. Where a row cannot find the caller, `libunwind` finds that one;
 * NULL: the walk ends there.
 */
void rows_walk(struct rows *rows, struct walk *walk, enum unwinder_kind kind,
	       struct libunwind_spaces *libunwind);
/* step.c: unwinder_step(). */
bool rows_step(const struct rows *rows, const struct space *space, const struct unwind_frame *frame,
	       struct unwind_step *step);

/*
 * libunwind over the snapshot: one address space for each space walked. Only
 * measurements want it without libunwind's own cache.
 */
struct libunwind_spaces *libunwind_spaces_new(bool is_cached);
void libunwind_spaces_free(struct libunwind_spaces *spaces);
void libunwind_spaces_forget(struct libunwind_spaces *spaces, const struct space *space);
void libunwind_walk(struct libunwind_spaces *spaces, struct walk *walk);

#endif
