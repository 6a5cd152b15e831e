// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk: takes the row of each frame, by the rules of rules.c, to its caller. */
#include <assert.h>

#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/eh_context.h"
#include "unwind/hot_walk.h"
#include "unwind/libunwind_follow.h"
#include "unwind/root.h"
#include "unwind/rules.h"

/* One walk: the current frame, and the state so far. */
struct row_walk {
	struct rows *rows;
	struct walk *walk;
	const struct unwind_arch *arch;
	enum unwinder_kind kind;
	struct libunwind_follower *libunwind; /* may be NULL */
	struct regs regs;
	struct unwind_frame frame;
	/*
	 * Notes of the frame that unwinds for an exception and is about to leave, if there is one.
	 */
	struct eh_notes eh;
	/* The thread is in code that enters handlers without such notes (LLVM's libunwind). */
	bool is_leaving;
	/* The word below the record by which the frame was found, or 0: see rule_jit_adapter(). */
	uint64_t sender_sp;
	/* Brent's loop detection, over the steps that do not climb. */
	uint64_t mark_pc, mark_sp;
	uint32_t nr_since_mark, mark_every;
};

/* The result of the search for a caller. */
enum step {
	STEP_CALLER,   /* it is in row_walk.frame and pushed */
	STEP_END,      /* the walk ended, with the reason */
	STEP_WILD,     /* it is pushed, and is not code: its caller may be known */
	STEP_FALLBACK, /* libunwind might know */
};

static enum step end(struct row_walk *rw, enum stack_end why)
{
	walk_end(rw->walk, why, rw->frame.pc);
	return STEP_END;
}

static enum step end_at(struct row_walk *rw, uint64_t wanted_address)
{
	walk_end_at(rw->walk, rw->frame.pc, wanted_address);
	return STEP_END;
}

/* `wanted_address`: there the walk would continue, if that memory was copied; 0: that is unknown.
 */
static enum step end_before_switch(struct row_walk *rw, uint64_t wanted_address)
{
	walk_end(rw->walk, STACK_END_OTHER_STACK, rw->frame.pc);
	rw->walk->out->wanted_address = wanted_address;
	return STEP_END;
}

static bool is_known(const struct regs *regs, unsigned int reg)
{
	return regs->known >> reg & 1;
}

/*
 * libunwind follows all registers; it may find one that the rows lost, if the thread's was known.
 */
static enum step end_for_want_of(struct row_walk *rw, unsigned int reg)
{
	const struct arch_regs *arch = rw->arch->regs;

	if (reg != arch->sp && reg != arch->fp && reg != arch->ra &&
	    is_known(&rw->walk->snapshot->regs, reg))
		return STEP_FALLBACK;
	return end(rw, STACK_END_UNKNOWN_REG);
}

/*
 * Has the walk been here before? A stack may go down where code switches to another one (signals,
 * coroutines), but a loop returns to an earlier frame by at least one step that does not climb.
 */
static bool is_loop(struct row_walk *rw, uint64_t pc, uint64_t sp)
{
	if (pc == rw->mark_pc && sp == rw->mark_sp)
		return true;
	if (++rw->nr_since_mark >= rw->mark_every) {
		rw->mark_pc = pc;
		rw->mark_sp = sp;
		rw->mark_every *= 2;
		rw->nr_since_mark = 0;
	}
	return false;
}

static struct row_query query_of(const struct row_walk *rw)
{
	return (struct row_query){.walk = rw->walk,
				  .arch = rw->arch,
				  .frame = &rw->frame,
				  .regs = &rw->regs,
				  .is_cfi_only = rw->kind == UNWINDER_CFI};
}

/* The outermost frame, if the stack pointer agrees: nothing else is proof. */
static enum step end_by_place(struct row_walk *rw)
{
	const struct row_query query = query_of(rw);

	return end(rw, root_at(rw->rows, &query, rw->regs.value[rw->arch->regs->sp]));
}

/* A return address of 0, at the CFA sp. A row from code is no proof. */
static enum step end_by_zero(struct row_walk *rw, uint64_t sp, enum unwind_rule rule)
{
	rw->regs.value[rw->arch->regs->sp] = sp;
	rw->walk->ended_by_zero = true;
	rw->frame.pc = 0;
	return unwind_rule_is_by_cfi(rule) ? end_by_place(rw) : end(rw, STACK_END_UNPROVED);
}

/* The caller is at pc with the stack pointer sp. */
static enum step arrive(struct row_walk *rw, uint64_t pc, uint64_t sp, enum unwind_rule rule,
			bool is_exact)
{
	const struct arch_regs *arch = rw->arch->regs;
	uint64_t old_sp = rw->regs.value[arch->sp];

	pc &= rw->arch->code_mask;
	if (!pc && !is_exact)
		return end_by_zero(rw, sp, rule);
	if (sp <= old_sp && ((sp == old_sp && pc == rw->frame.pc) || is_loop(rw, pc, sp)))
		return end(rw, STACK_END_LOOP);
	rw->regs.value[arch->sp] = sp;
	is_exact = is_exact || rows_begins_at(rw->rows, rw->walk, pc);
	rw->frame = walk_frame(rw->walk, pc, sp, is_exact, rule);
	if (walk_push(rw->walk, &rw->frame))
		return STEP_CALLER;
	return is_exact ? STEP_WILD : STEP_END;
}

/* The CFA of an ordinary row. False: the walk has ended, or needs libunwind; see *step. */
static bool cfa_of(struct row_walk *rw, const struct row *row, uint64_t *cfa, enum step *step)
{
	uint64_t pc = rw->frame.pc;

	if (!is_known(&rw->regs, row->cfa_reg)) {
		*step = end_for_want_of(rw, row->cfa_reg);
		return false;
	}
	*cfa = rw->regs.value[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_offset;
	if (row->kind == ROW_STEP_DEREF && !walk_read(rw->walk, *cfa, cfa)) {
		*step = end_at(rw, *cfa);
		return false;
	}
	if (row->kind == ROW_STEP_PLT && (pc & row->plt.mask) >= row->plt.from)
		*cfa += row->plt.more;
	return true;
}

/* Find the caller's frame pointer. */
static void recover_fp(struct row_walk *rw, const struct row *row, uint64_t cfa)
{
	unsigned int fp = rw->arch->regs->fp;
	uint64_t offset = (uint64_t)(int64_t)row->fp_offset;
	uint64_t base = cfa;

	if (row->fp == ROW_FP_SAME)
		return;
	if (row->fp == ROW_FP_AT_FP)
		base = rw->regs.value[fp];
	if (row->fp == ROW_FP_LOST || (row->fp == ROW_FP_AT_FP && !is_known(&rw->regs, fp)) ||
	    !walk_read(rw->walk, base + offset, &rw->regs.value[fp]))
		rw->regs.known &= ~(UINT64_C(1) << fp);
	else
		rw->regs.known |= UINT64_C(1) << fp;
}

/*
 * The frame pointer is unknown if a thread was read without stopping it: then the code shows how
 * far the stack pointer has moved since the entry.
 */
static bool wants_unknown_fp(const struct row_walk *rw, const struct row *row)
{
	return row->cfa_reg == rw->arch->regs->fp && !is_known(&rw->regs, row->cfa_reg) &&
	       rw->kind != UNWINDER_CFI;
}

/* A return address outside all code, in code that switched stacks. */
static bool leads_nowhere(const struct row_walk *rw, uint64_t ra)
{
	const struct row_query query = query_of(rw);

	ra &= rw->arch->code_mask;
	return ra && space_locate(rw->walk->space, ra - 1).module.v == MODULE_UNKNOWN.v &&
	       rw->kind != UNWINDER_CFI && rows_is_first_of_stack(rw->rows, &query);
}

/*
 * The first frame on a stack that its function switched to. Go keeps the frame pointer of the
 * calling code on the other stack: if that was copied, too, and the function will return to it, the
 * walk continues there.
 */
static enum step step_over_switch(struct row_walk *rw)
{
	const struct row_query query = query_of(rw);
	struct rows_behind behind = {0};
	unsigned int sp = rw->arch->regs->sp;

	if (!rows_is_stack_base(rw->rows, &query) ||
	    !rows_find_behind_switch(rw->rows, &query, &behind))
		return end_before_switch(rw, behind.wanted_address);
	rw->regs.known &= UINT64_C(1) << sp | UINT64_C(1) << rw->arch->regs->fp;
	return arrive(rw, behind.pc, behind.sp, UNWIND_RULE_STACK_SWITCH, false);
}

/* Has this row's frame saved the frame pointer of the frame that the exception goes to? */
static bool has_replaced_fp(const struct row_walk *rw, const struct eh_target *target,
			    const struct row *row, uint64_t cfa)
{
	uint64_t value;

	return target->fp_slot && target->fp_slot != cfa + (uint64_t)(int64_t)row->fp_offset &&
	       walk_read(rw->walk, target->fp_slot, &value) &&
	       value == rw->regs.value[rw->arch->regs->fp];
}

/*
 * The frame of a function that unwinds for an exception: the registers it saved may already be
 * replaced by those of the handler's frame. Its notes have the return address; the frame pointer is
 * lost unless the saved one differs from the handler's.
 */
static void undo_replacement(struct row_walk *rw, const struct row *row, uint64_t cfa, uint64_t *ra)
{
	unsigned int fp = rw->arch->regs->fp;
	const struct eh_frame frame = {
		.sp = rw->regs.value[rw->arch->regs->sp],
		.cfa = cfa,
		.entry = rw->frame.pc - (uint64_t)(int64_t)row->entry_distance,
	};
	struct eh_notes notes;

	/* While the notes are being made, they hold the caller of the unwinder. */
	if (!eh_context_find(rw->walk, rw->arch->eh, &frame, &notes) ||
	    notes.return_address == rw->frame.pc)
		return;
	*ra = notes.return_address;
	rw->eh = notes;
	for (size_t i = 0; i < notes.nr_targets; i++) {
		if (row->fp == ROW_FP_AT_CFA && has_replaced_fp(rw, &notes.targets[i], row, cfa))
			rw->regs.known &= ~(UINT64_C(1) << fp);
	}
}

/* Does the exception land here, with the landing pad's address in place of the return address? */
static bool is_landing(const struct row_walk *rw, uint64_t cfa, uint64_t ra)
{
	for (size_t i = 0; i < rw->eh.nr_targets; i++) {
		if (rw->eh.targets[i].cfa == cfa && rw->eh.targets[i].pc == ra)
			return true;
	}
	return false;
}

/* Undo a landing pad: find the return address that it has replaced. */
static enum eh_landing_calls undo_landing(struct row_walk *rw, const struct row *row, uint64_t cfa,
					  uint64_t *ra)
{
	const struct row_query query = query_of(rw);
	bool is_gone = row->ra == ROW_RA_REPLACED;
	const struct rows_landing landing = {
		.pc = *ra,
		/* Below where the landing pad was written. */
		.cfa = is_gone ? cfa + (uint64_t)(int64_t)row->ra_offset + sizeof(*ra) : cfa,
		.is_gone = is_gone,
		.is_doubtful = rw->is_leaving,
	};

	return rows_find_before_landing(rw->rows, &query, &landing, ra);
}

static int32_t ra_offset_of(const struct row *row)
{
	return row->ra == ROW_RA_MAY_BE_REPLACED ? -8 : row->ra_offset;
}

static enum step step_by_row(struct row_walk *rw, const struct row *row)
{
	const struct arch_regs *arch = rw->arch->regs;
	uint64_t cfa = 0;
	uint64_t ra = 0;
	/*
	 * If the call is unknown, the caller continues at the landing pad, and no call precedes
	 * that.
	 */
	enum eh_landing_calls calls = EH_LANDING_NONE;
	enum step step = STEP_END;

	if (!cfa_of(rw, row, &cfa, &step))
		return step;
	if (row->ra == ROW_RA_IN_REG) {
		if (!regs_get(&rw->regs, arch->ra, &ra))
			return end(rw, STACK_END_UNKNOWN_REG);
	} else {
		uint64_t address = cfa + (uint64_t)(int64_t)ra_offset_of(row);

		if (root_is_above(rw->walk, address))
			return end(rw, STACK_END_ROOT);
		if (!walk_read(rw->walk, address, &ra))
			return row->rule == UNWIND_RULE_GO_OWN_FP ? end_before_switch(rw, address)
								  : end_at(rw, address);
	}
	if (leads_nowhere(rw, ra))
		return step_over_switch(rw);
	if (rw->walk->nr_pushed == 1)
		rw->is_leaving = row->saves_eh && row->is_from_code && row->ra == ROW_RA_AT_CFA;
	if (row->ra == ROW_RA_REPLACED || rw->is_leaving || is_landing(rw, cfa, ra))
		calls = undo_landing(rw, row, cfa, &ra);
	recover_fp(rw, row, cfa);
	/* LLVM's libunwind writes another register there, just below the landing pad. */
	if (rw->is_leaving && calls != EH_LANDING_NONE) {
		if (row->fp == ROW_FP_AT_CFA && row->fp_offset == -16)
			rw->regs.known &= ~(UINT64_C(1) << arch->fp);
		rw->is_leaving = false;
	}
	if (row->ra == ROW_RA_MAY_BE_REPLACED)
		undo_replacement(rw, row, cfa, &ra);
	rw->regs.known &= UINT64_C(1) << arch->sp | UINT64_C(1) << arch->fp;
	return arrive(rw, ra, cfa, row->rule, row->caller_is_exact || calls == EH_LANDING_SEVERAL);
}

/* The kernel saved all registers of the interrupted code. */
static enum step step_by_signal_frame(struct row_walk *rw)
{
	const struct arch_regs *arch = rw->arch->regs;
	uint64_t frame = rw->regs.value[arch->sp];
	struct regs struck = {0};
	uint64_t value;

	for (unsigned int reg = 0; reg < arch->nr; reg++) {
		uint64_t address = frame + (uint64_t)(int64_t)rw->arch->signal_offsets[reg];

		if (walk_read(rw->walk, address, &value))
			regs_set(&struck, reg, value);
		else if (reg == arch->sp || reg == arch->pc)
			return end_at(rw, address);
	}
	/* arrive() compares with the trampoline's stack pointer */
	value = struck.value[arch->sp];
	struck.value[arch->sp] = frame;
	rw->regs = struck;
	return arrive(rw, struck.value[arch->pc], value, UNWIND_RULE_SIGNAL, true);
}

/* The frame pointer points to the caller's, and the return address above that. */
static enum step step_by_record(struct row_walk *rw)
{
	const struct arch_regs *arch = rw->arch->regs;
	uint64_t fp = rw->regs.value[arch->fp];
	uint64_t caller_fp, return_address;

	if (!walk_read(rw->walk, fp, &caller_fp))
		return end_at(rw, fp);
	if (!walk_read(rw->walk, fp + 8, &return_address))
		return end_at(rw, fp + 8);
	if (!walk_read(rw->walk, fp - 8, &rw->sender_sp))
		rw->sender_sp = 0;
	regs_set(&rw->regs, arch->fp, caller_fp);
	rw->regs.known &= UINT64_C(1) << arch->sp | UINT64_C(1) << arch->fp;
	rw->walk->nr_fp_frames++;
	return arrive(rw, return_address, fp + 16, UNWIND_RULE_FRAME_POINTER, false);
}

static enum step step_by_rule_of_stack(struct row_walk *rw, const struct row *row)
{
	rw->walk->out->end_rule = row->rule;
	switch ((enum row_kind)row->kind) {
	case ROW_RECORD:
		return step_by_record(rw);
	case ROW_OTHER_STACK:
		return step_over_switch(rw);
	case ROW_NEVER_RETURNS:
		return end_by_place(rw);
	case ROW_STEP:
	case ROW_STEP_DEREF:
	case ROW_STEP_PLT:
	case ROW_EMPTY:
	case ROW_SIGNAL:
	case ROW_ROOT:
	case ROW_FALLBACK:
	case ROW_NO_CFI:
	case ROW_BAD_CFI:
	case ROW_NO_FILE:
	case ROW_FOREIGN:
		break;
	}
	assert(row->kind == ROW_STEP);
	return step_by_row(rw, row);
}

static bool leads_on(const struct row_walk *rw, const struct code_host *host);

/* The row of a rule; of one with trials the first that leads to the root. */
static struct row row_by_rule(const struct row_walk *rw, const struct rule *rule,
			      struct rule_case *at)
{
	struct row row;

	if (!rule->trials)
		return rule->row(at);
	if (rw->walk->trial_depth >= rule->trials)
		return row_of_kind(ROW_NO_CFI);
	do {
		if (walk_is_over(rw->walk))
			return row_of_kind(ROW_NO_CFI);
		row = rule->row(at);
	} while (row.kind != ROW_NO_CFI && !leads_on(rw, &at->host));
	return row;
}

/* By the first rule of the stack that has a row. If none has, the walk ends with `why`. */
static enum step step_by_rules(struct row_walk *rw, const struct row *known, enum rule_want want,
			       enum stack_end why)
{
	const struct row_query query = query_of(rw);
	const struct mapping *mapping = rows_mapping(&query);
	struct elf_image *image = mapping ? space_image(rw->walk->space, mapping) : NULL;
	struct rule_case at = {
		.rows = rw->rows,
		.query = &query,
		.code = rows_code_frame(&query, mapping, image),
		.known = *known,
		.want = want,
		.eh = &rw->eh,
		.sender_sp = rw->sender_sp,
		.end = why,
	};

	if (image)
		at.cfi = rows_cfi(rw->rows, rw->frame.lookup.module, image);
	for (int i = RULES_OF_STACK; i < UNWIND_RULE_COUNT && rw->kind != UNWINDER_CFI; i++) {
		struct row row;

		if (!unwind_rules[i].applies(&at))
			continue;
		row = row_by_rule(rw, &unwind_rules[i], &at);
		row.rule = (uint8_t)i;
		if (row.kind != ROW_NO_CFI)
			return step_by_rule_of_stack(rw, &row);
	}
	return at.wanted_address ? end_at(rw, at.wanted_address) : end(rw, at.end);
}

static enum step step_by_known_row(struct row_walk *rw, const struct row *row)
{
	if (wants_unknown_fp(rw, row))
		return step_by_rules(rw, row, RULE_WANT_FP, STACK_END_UNKNOWN_REG);
	return step_by_row(rw, row);
}

/* Code that never returns begins a thread, at the top of its stack; else the code was misread. */
static enum step step_of_endless(struct row_walk *rw, const struct row *row)
{
	const struct row_query query = query_of(rw);
	enum stack_end end_here = root_at(rw->rows, &query, rw->regs.value[rw->arch->regs->sp]);

	if (end_here == STACK_END_ROOT)
		return end(rw, STACK_END_ROOT);
	return step_by_rules(rw, row, RULE_WANT_ROW, end_here);
}

static enum step find_caller(struct row_walk *rw)
{
	const struct row_query query = query_of(rw);
	struct row row;

	if (rw->kind == UNWINDER_FP)
		return step_by_rules(rw, &(struct row){0}, RULE_WANT_RECORD, STACK_END_NO_CFI);
	row = rows_find(rw->rows, &query);
	rw->walk->out->end_rule = row.rule;
	switch ((enum row_kind)row.kind) {
	case ROW_STEP:
	case ROW_STEP_DEREF:
	case ROW_STEP_PLT:
		return step_by_known_row(rw, &row);
	case ROW_SIGNAL:
		return step_by_signal_frame(rw);
	case ROW_ROOT:
		return end(rw, STACK_END_ROOT);
	case ROW_NEVER_RETURNS:
		return step_of_endless(rw, &row);
	case ROW_OTHER_STACK:
		return step_over_switch(rw);
	case ROW_FALLBACK:
		return STEP_FALLBACK;
	case ROW_NO_CFI:
		return step_by_rules(rw, &row, RULE_WANT_ROW, STACK_END_NO_CFI);
	case ROW_NO_FILE:
		return step_by_rules(rw, &row, RULE_WANT_ROW, STACK_END_NO_FILE);
	case ROW_FOREIGN:
		return end(rw, STACK_END_FOREIGN);
	case ROW_RECORD:
	case ROW_BAD_CFI:
	case ROW_EMPTY:
		break;
	}
	return end(rw, STACK_END_BAD_CFI);
}

/*
 * libunwind follows all registers from the leaf on. Only this one caller is taken from it: later
 * code without CFI would mislead it.
 */
static enum step step_by_libunwind(struct row_walk *rw)
{
	const struct arch_regs *arch = rw->arch->regs;
	struct regs caller = rw->regs;
	uint64_t sp;

	if (!rw->libunwind ||
	    !libunwind_caller(rw->libunwind, rw->walk->nr_pushed - 1, rw->frame.pc, &caller))
		return walk_is_over(rw->walk) ? end(rw, STACK_END_COSTLY)
					      : step_by_rules(rw, &(struct row){0}, RULE_WANT_REGS,
							      STACK_END_UNKNOWN_REG);
	rw->walk->nr_libunwind++;
	sp = caller.value[arch->sp];
	caller.value[arch->sp] = rw->regs.value[arch->sp]; /* arrive() compares with it */
	rw->regs = caller;
	return arrive(rw, caller.value[arch->pc], sp, UNWIND_RULE_LIBUNWIND, false);
}

/* A zero on the stack may be any data: after this many consistent frames it is the end. */
#define FRAMES_BEFORE_ZERO 4

/* Does a walk from a possible caller, whose frame pointer is unknown, reach the root? */
static bool leads_on(const struct row_walk *rw, const struct code_host *host)
{
	const struct walk *walk = rw->walk;
	struct snapshot begun = *walk->snapshot; /* its bytes stay those of the original */
	struct unwind_walk out = {0};
	struct walk trial = {
		.space = walk->space,
		.snapshot = &begun,
		.memory = walk->memory,
		.out = &out,
		.trial_depth = walk->trial_depth + 1,
		.work = walk->work,
	};
	bool is_root;

	begun.regs = (struct regs){0};
	regs_set(&begun.regs, rw->arch->regs->pc, host->return_address);
	regs_set(&begun.regs, rw->arch->regs->sp, host->cfa);
	rows_walk(rw->rows, &trial, UNWINDER_AUTO, NULL);
	walk_work_add(walk, trial.nr_pushed);
	is_root = out.end == STACK_END_ROOT ||
		  (trial.ended_by_zero && out.nr_frames >= FRAMES_BEFORE_ZERO);
	unwind_walk_release(&out);
	return is_root;
}

void rows_walk(struct rows *rows, struct walk *walk, enum unwinder_kind kind,
	       struct libunwind_spaces *libunwind)
{
	struct libunwind_follower follower = {.spaces = libunwind, .walk = walk};
	struct row_walk rw = {.rows = rows,
			      .walk = walk,
			      .arch = unwind_arch(walk->snapshot->arch),
			      .kind = kind,
			      .libunwind = libunwind ? &follower : NULL,
			      .regs = walk->snapshot->regs,
			      .mark_every = 1};
	uint64_t pc = 0, sp = 0;
	enum step step = STEP_CALLER;

	regs_get(&rw.regs, rw.arch->regs->pc, &pc);
	regs_get(&rw.regs, rw.arch->regs->sp, &sp);
	rw.frame = walk_frame(walk, pc, sp, !walk->trial_depth, UNWIND_RULE_NONE);
	if (!walk_push(walk, &rw.frame))
		step = STEP_WILD;
	if (!is_known(&rw.regs, rw.arch->regs->sp)) {
		walk_end(walk, STACK_END_UNKNOWN_REG, pc);
		return;
	}
	while (step != STEP_END) {
		if (walk_is_over(walk)) {
			walk_end(walk, STACK_END_COSTLY, rw.frame.pc);
			break;
		}
		if (step == STEP_WILD) {
			step = step_by_rules(&rw, &(struct row){0}, RULE_WANT_CODE, walk->out->end);
			continue;
		}
		if (kind != UNWINDER_FP && !rw.eh.nr_targets && !rw.is_leaving)
			hot_walk(rows_hot(rows), rw.arch, walk, &rw.regs, &rw.frame);
		step = find_caller(&rw);
		if (step == STEP_FALLBACK)
			step = step_by_libunwind(&rw);
	}
	regs_get(&rw.regs, rw.arch->regs->sp, &walk->out->end_sp);
}
