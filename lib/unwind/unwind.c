// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder: chooses how to walk a stack, and keeps statistics. */
#include "unwind/unwind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind_priv.h"

static const char *const kind_names[] = {
	[UNWINDER_AUTO] = "auto",
	[UNWINDER_CFI] = "cfi",
	[UNWINDER_LIBUNWIND] = "libunwind",
	[UNWINDER_FP] = "fp",
};

struct unwinder {
	enum unwinder_kind kind;
	size_t max_depth;
	struct rows *rows;
	struct libunwind_spaces *libunwind;
	struct unwinder_stats stats;
	struct walk_work work;
	uint64_t work_left; /* for all walks from now on together */
	bool checks;
	struct unwinder_check check;
	struct unwind_walk check_walk;
};

bool unwinder_kind_parse(const char *text, enum unwinder_kind *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		if (!strcmp(text, kind_names[i])) {
			*kind = (enum unwinder_kind)i;
			return true;
		}
	}
	return false;
}

const char *unwinder_kind_name(enum unwinder_kind kind)
{
	return kind_names[kind];
}

struct unwinder *unwinder_new(enum unwinder_kind kind, size_t max_depth)
{
	struct unwinder *unwinder = xcalloc(1, sizeof(*unwinder));

	unwinder->kind = kind;
	unwinder->max_depth = max_depth;
	unwinder->work_left = UINT64_MAX;
	unwinder->rows = rows_new(&unwinder->work);
	unwinder->libunwind = libunwind_spaces_new(true);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	unwind_walk_release(&unwinder->check_walk);
	rows_free(unwinder->rows);
	libunwind_spaces_free(unwinder->libunwind);
	free(unwinder);
}

void unwinder_bound(struct unwinder *unwinder, uint64_t work_left)
{
	unwinder->work_left = work_left;
}

void unwinder_end_by(struct unwinder *unwinder, const atomic_bool *ended)
{
	unwinder->work.ended = ended;
}

void unwinder_forget_space(struct unwinder *unwinder, const struct space *space)
{
	libunwind_spaces_forget(unwinder->libunwind, space);
}

struct unwinder_stats unwinder_stats(const struct unwinder *unwinder)
{
	struct unwinder_stats stats = unwinder->stats;

	stats.nr_rows_compiled = rows_nr_compiled(unwinder->rows);
	return stats;
}

void unwinder_check_each(struct unwinder *unwinder, bool on)
{
	unwinder->checks = on;
}

const struct unwinder_check *unwinder_check_result(const struct unwinder *unwinder)
{
	return &unwinder->check;
}

void unwinder_check_append_rules(const struct unwinder_check *check, struct buf *out)
{
	const char *separator = "";

	for (int rule = UNWIND_RULE_NONE + 1; rule < UNWIND_RULE_COUNT; rule++) {
		if (!check->nr_by_rule[rule])
			continue;
		buf_printf(out, "%s%s %" PRIu64, separator,
			   unwind_rule_name((enum unwind_rule)rule), check->nr_by_rule[rule]);
		separator = ", ";
	}
}

static void begin(struct unwind_walk *out)
{
	out->nr_frames = 0;
	out->elided_at = 0;
	out->nr_elided = 0;
	out->end_sp = 0;
	out->left_map = false;
	out->end_rule = UNWIND_RULE_NONE;
}

/* libunwind is reliable with CFI; after code without CFI it guesses. */
static size_t nr_comparable(const struct unwind_walk *walk)
{
	size_t nr = 0;

	while (nr < walk->nr_frames && (!nr || unwind_rule_is_by_cfi(walk->frames[nr].rule)))
		nr++;
	return nr;
}

static uint64_t pc_of(const struct unwind_walk *walk, size_t i)
{
	return i < walk->nr_frames ? walk->frames[i].pc : 0;
}

static void count_rules(struct unwinder_check *check, const struct unwind_walk *walk)
{
	for (size_t i = 1; i < walk->nr_frames; i++)
		check->nr_by_rule[walk->frames[i].rule]++;
	check->nr_by_rule[walk->end_rule]++;
}

/* `walk` has all frames of the first unwinder, before any were left out. */
static void check_walk(struct unwinder *unwinder, const struct walk *walk)
{
	struct unwind_walk *other = &unwinder->check_walk;
	struct unwinder_check *check = &unwinder->check;
	struct walk again = *walk;
	size_t nr = nr_comparable(walk->out);
	size_t i = 0;

	count_rules(check, walk->out);
	/* Costly stacks are not walked twice. */
	if (walk->out->end == STACK_END_COSTLY)
		return;
	walk->work->done = 0;
	again.out = other;
	again.nr_pushed = 0;
	begin(other);
	libunwind_walk(unwinder->libunwind, &again);
	if (other->end == STACK_END_COSTLY)
		return;
	/* One more if both should have ended there. */
	if (nr == walk->out->nr_frames && walk->out->end == STACK_END_ROOT)
		nr++;
	while (i < nr && pc_of(walk->out, i) == pc_of(other, i))
		i++;
	check->nr_stacks++;
	if (i == nr || check->nr_different++)
		return;
	check->tid = walk->snapshot->tid;
	check->leaf = walk->out->frames[0].lookup;
	check->at = i;
	check->rule = i < walk->out->nr_frames ? walk->out->frames[i].rule : walk->out->end_rule;
	check->pc = pc_of(walk->out, i);
	check->libunwind = pc_of(other, i);
}

/*
 * No stack: the registers of a 32-bit program differ, and are not copied; io_uring's threads have
 * none, and those of a thread that was not stopped are not known.
 */
static void walk_unknown(struct walk *walk)
{
	static const enum stack_end ends[] = {
		[NO_REGISTERS_FOREIGN] = STACK_END_FOREIGN,
		[NO_REGISTERS_WORKER] = STACK_END_WORKER,
		[NO_REGISTERS_SPARED] = STACK_END_NOT_TAKEN,
	};
	const struct unwind_frame leaf = walk_frame(walk, 0, 0, true, UNWIND_RULE_NONE);

	walk_push(walk, &leaf);
	walk_end(walk, ends[walk->snapshot->no_registers], 0);
}

bool unwinder_step(const struct unwinder *unwinder, const struct space *space,
		   const struct unwind_frame *frame, struct unwind_step *step)
{
	return rows_step(unwinder->rows, space, frame, step);
}

/*
 * For any stack, plus for each copied byte of it: a frame has at least eight, and hardly ever takes
 * as much work.
 */
#define WORK_OF_STACK (UINT64_C(1) << 20)
#define WORK_OF_BYTE  1

static void walk_by_kind(struct unwinder *unwinder, struct walk *walk)
{
	if (!walk->snapshot->regs.known) {
		walk_unknown(walk);
	} else if (unwinder->kind == UNWINDER_LIBUNWIND) {
		libunwind_walk(unwinder->libunwind, walk);
		unwinder->stats.nr_libunwind_walks++;
	} else {
		rows_walk(unwinder->rows, walk, unwinder->kind,
			  unwinder->kind == UNWINDER_AUTO ? unwinder->libunwind : NULL);
	}
}

static void walk_within_bounds(struct unwinder *unwinder, struct walk *walk)
{
	struct walk_work *work = &unwinder->work;

	work->done = 0;
	work->limit = min_u64(WORK_OF_STACK + WORK_OF_BYTE * walk->snapshot->nr_bytes,
			      unwinder->work_left);
	walk_by_kind(unwinder, walk);
	if (unwinder->work_left != UINT64_MAX)
		unwinder->work_left -= min_u64(work->done, unwinder->work_left);
}

void unwinder_walk(struct unwinder *unwinder, struct space *space, const struct snapshot *snapshot,
		   const struct unwind_memory *memory, struct unwind_walk *out)
{
	struct walk walk = {.work = &unwinder->work,
			    .space = space,
			    .snapshot = snapshot,
			    .memory = memory,
			    .out = out,
			    .max_depth = unwinder->max_depth};

	begin(out);
	walk_within_bounds(unwinder, &walk);
	if (unwinder->checks && snapshot->regs.known && walk.nr_pushed == out->nr_frames)
		check_walk(unwinder, &walk);
	walk_finish(&walk);
	unwinder->stats.nr_walks++;
	unwinder->stats.nr_fp_frames += walk.nr_fp_frames;
	unwinder->stats.nr_libunwind_walks += walk.nr_libunwind;
	unwinder->stats.nr_frames += walk.nr_pushed;
}
