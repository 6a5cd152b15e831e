// SPDX-License-Identifier: GPL-2.0-or-later
/* A trial walk, to check whether a place on the stack may be the start of a frame. */
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/rows.h"

/* A zero on the stack may be any data: after this many consistent frames it is the end. */
#define FRAMES_BEFORE_ZERO 4

bool rows_lead_on(struct rows *rows, const struct walk *walk, uint64_t pc, uint64_t sp)
{
	const struct arch_regs *arch = arch_regs(walk->snapshot->arch);
	struct snapshot begun = *walk->snapshot; /* its bytes stay those of the original */
	struct unwind_walk out = {0};
	struct walk trial = {
		.space = walk->space,
		.snapshot = &begun,
		.memory = walk->memory,
		.out = &out,
		.trial_depth = walk->trial_depth + 1,
	};
	bool leads_on;

	begun.regs = (struct regs){0};
	regs_set(&begun.regs, arch->pc, pc);
	regs_set(&begun.regs, arch->sp, sp);
	rows_walk(rows, &trial, UNWINDER_AUTO, NULL);
	leads_on = out.end == STACK_END_ROOT ||
		   (trial.ended_by_zero && out.nr_frames >= FRAMES_BEFORE_ZERO);
	unwind_walk_release(&out);
	return leads_on;
}
