/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwinder: from a snapshot to frames, with the reason why the walk ended. */
#ifndef PROFC_UNWIND_UNWIND_H
#define PROFC_UNWIND_UNWIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mapping/module.h"
#include "stack/stack_end.h"
#include "unwind/rule.h"

struct buf;
struct snapshot;
struct space;

struct unwind_frame {
	uint64_t pc; /* in the target, as found: a return address unless is_exact */
	/*
	 * The address that gives this frame its function and line: pc itself at the leaf or where a
	 * signal struck (is_exact), pc - 1 after a call. Only this member applies that rule; all
	 * later code works with `lookup` only.
	 */
	struct code_address lookup;
	/*
	 * Its stack pointer; once its callee has returned, for all but the leaf and where a signal
	 * struck. What it keeps on the stack is between this and the sp of its caller. 0: not
	 * known.
	 */
	uint64_t sp;
	bool is_exact;
	enum unwind_rule rule; /* the one that made the row of its callee */
};

/* The result of a walk, leaf first. Zero-initialised is ready; reused from walk to walk. */
struct unwind_walk {
	struct unwind_frame *frames; /* owned */
	size_t nr_frames, cap_frames;
	/*
	 * With STACK_END_DEPTH_LIMIT: nr_elided frames are elided between
	 * frames[elided_at - 1] and frames[elided_at].
	 */
	size_t elided_at, nr_elided;
	enum stack_end end;
	bool left_map;	 /* a frame, or the stack, is outside every mapping: the map may be old */
	uint64_t end_pc; /* where the walk could not go on; 0 at the root */
	struct module_id end_module; /* the module of that code */
	/* BAD_MEMORY, or OTHER_STACK if the walk might go on: the address that was missing. */
	uint64_t wanted_address;
	uint64_t end_sp;	   /* stack pointer of the last frame; 0: not known */
	enum unwind_rule end_rule; /* the last one that had a row for the last frame */
};

void unwind_walk_release(struct unwind_walk *walk);

/*
 * Memory beyond the snapshot's copy: reads nr_bytes at address of the target into out and returns
 * whether it could. For walks during a ptrace-stop of the thread, to copy as deep as needed; NULL
 * if the thread runs. Bytes of the target's stack are valid only during the stop.
 */
struct unwind_memory {
	bool (*read)(void *context, uint64_t address, void *out, size_t nr_bytes);
	void *context;
};

enum unwinder_kind {
	UNWINDER_AUTO,	    /* rows, libunwind where rows cannot say, frame pointers without CFI */
	UNWINDER_CFI,	    /* rows only */
	UNWINDER_LIBUNWIND, /* libunwind only */
	UNWINDER_FP,	    /* frame pointers only */
};

/* "auto", "cfi", "libunwind", "fp"; false for any other text. */
bool unwinder_kind_parse(const char *text, enum unwinder_kind *kind);
const char *unwinder_kind_name(enum unwinder_kind kind);

/*
 * An unwinder holds caches keyed by module and generation and serves any number
 * of spaces. Not thread-safe: one per thread. Never touches the target: it
 * reads the snapshot, the modules' files and `memory`.
 */
struct unwinder;

struct unwinder *unwinder_new(enum unwinder_kind kind, size_t max_depth);
void unwinder_free(struct unwinder *unwinder);

/*
 * Once another thread sets *ended, which is borrowed, all walks end where they are, with
 * STACK_END_COSTLY. NULL (initially): they are not ended.
 */
void unwinder_end_by(struct unwinder *unwinder, const atomic_bool *ended);
/*
 * Bound the work of all walks from now on together, in units of some ten nanoseconds; walks beyond
 * it end with STACK_END_COSTLY. Initially there is no bound.
 */
void unwinder_bound(struct unwinder *unwinder, uint64_t work_left);

/*
 * Walk the stack of a snapshot. Never fails: the frames found and the reason of the end are the
 * result. The size of the copied stack bounds the work of one walk: if a program's files make
 * unwinding costly, its stacks end with STACK_END_COSTLY. `space` may be older than the process; a
 * pc that it does not know ends the walk with STACK_END_NO_MAPPING, and the caller may refresh the
 * space and walk again. `memory` may be NULL.
 */
void unwinder_walk(struct unwinder *unwinder, struct space *space, const struct snapshot *snapshot,
		   const struct unwind_memory *memory, struct unwind_walk *out);

/* The step from a frame to its caller, if it needs only the stack and the frame pointer. */
struct unwind_step {
	uint64_t return_address; /* into the frame */
	/*
	 * Distance from the stack pointer to the caller's, just below which the return address is.
	 */
	int32_t sp_offset;
	int16_t fp_offset; /* from there, of the caller's frame pointer, if it is saved */
	bool is_from_fp;   /* sp_offset is from the frame pointer */
	bool fp_is_saved;  /* else it is the same, */
	bool fp_is_lost;   /* or not known */
};

/*
 * The step of a frame that the last walk has found in this space. All frames but the leaf were
 * called; here the leaf counts as called, too. False: a step cannot express it, or its row is no
 * longer cached.
 */
bool unwinder_step(const struct unwinder *unwinder, const struct space *space,
		   const struct unwind_frame *frame, struct unwind_step *step);

/* Drop the caches for a space: before space_free(), and after exec. */
void unwinder_forget_space(struct unwinder *unwinder, const struct space *space);

/*
 * The cross-check: every stack is unwound a second time, by libunwind alone, and compared as far as
 * both are reliable, that is up to the first frame not found by CFI. Slow; for finding errors in
 * either.
 */
struct unwinder_check {
	uint64_t nr_stacks, nr_different;
	/* About the first difference: */
	pid_t tid;
	struct code_address leaf;
	size_t at;		/* the frame that differs */
	enum unwind_rule rule;	/* the one that found that, or ended the stack before it */
	uint64_t pc, libunwind; /* the pcs in either stack; 0: the stack has ended */
	/* How many frames each rule has found, and how many stacks it has ended. */
	uint64_t nr_by_rule[UNWIND_RULE_COUNT];
};

void unwinder_check_each(struct unwinder *unwinder, bool on);
/* Append the rules that have found callers or ends, each with its number, on one line. */
void unwinder_check_append_rules(const struct unwinder_check *check, struct buf *out);
/* The result so far. Borrowed. */
const struct unwinder_check *unwinder_check_result(const struct unwinder *unwinder);

struct unwinder_stats {
	uint64_t nr_walks, nr_frames;
	uint64_t nr_rows_compiled, nr_libunwind_walks, nr_fp_frames;
};

struct unwinder_stats unwinder_stats(const struct unwinder *unwinder);

#endif
