// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiles the rules of call frame information into rows. */
#include "unwind/row.h"

/* DWARF 5 table 7.9: the operations that rows understand. */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

struct row row_of_kind(enum row_kind kind)
{
	return (struct row){.kind = kind & 0xf};
}

/* DW_OP_bregN offset */
static bool take_breg(struct cursor *at, uint64_t *reg, int64_t *offset)
{
	uint8_t op = cursor_byte(at);

	if (op < OP_BREG0 || op > OP_BREG31)
		return false;
	*reg = op - OP_BREG0;
	*offset = cursor_padded_sleb(at);
	return !at->failed;
}

static bool take_literal(struct cursor *at, uint8_t *value)
{
	uint8_t op = cursor_byte(at);

	*value = (uint8_t)(op - OP_LIT0);
	return op >= OP_LIT0 && op <= OP_LIT31;
}

static bool take_op(struct cursor *at, uint8_t op)
{
	return cursor_byte(at) == op && !at->failed;
}

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* The whole expression is DW_OP_bregN offset, DW_OP_deref. */
static bool is_deref(struct cursor at, uint64_t *reg, int64_t *offset)
{
	return take_breg(&at, reg, offset) && take_op(&at, OP_DEREF) && !cursor_left(&at);
}

/* The whole expression is DW_OP_bregN offset. */
static bool is_breg(struct cursor at, uint64_t *reg, int64_t *offset)
{
	return take_breg(&at, reg, offset) && !cursor_left(&at);
}

/*
 * Linkers write this expression for all entries of a PLT at once:
 *	breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
 * that is, 8 more from the byte on that follows the push. The numbers differ
 * between kinds of PLT.
 */
static bool is_plt(const struct unwind_arch *arch, struct cursor at, struct row *row)
{
	uint64_t reg;
	uint64_t pc;
	int64_t offset;
	int64_t zero;
	uint8_t shift;

	if (!take_breg(&at, &reg, &offset) || reg != arch->regs->sp || !fits(offset) ||
	    !take_breg(&at, &pc, &zero) || pc != arch->regs->pc || zero ||
	    !take_literal(&at, &row->plt.mask) || !take_op(&at, OP_AND) ||
	    !take_literal(&at, &row->plt.from) || !take_op(&at, OP_GE) ||
	    !take_literal(&at, &shift) || shift > 7 || !take_op(&at, OP_SHL) ||
	    !take_op(&at, OP_PLUS) || cursor_left(&at))
		return false;
	row->kind = ROW_STEP_PLT;
	row->cfa_reg = (uint8_t)reg;
	row->cfa_offset = (int32_t)offset;
	row->plt.more = (uint8_t)(1U << shift);
	return true;
}

static bool compile_cfa(const struct unwind_arch *arch, const struct cfi_rule *cfa, struct row *row)
{
	uint64_t reg = cfa->reg;
	int64_t offset = cfa->offset;

	if (cfa->kind == CFI_RULE_REGISTER)
		row->kind = ROW_STEP;
	else if (cfa->kind == CFI_RULE_VAL_EXPRESSION && is_deref(cfa->expression, &reg, &offset))
		row->kind = ROW_STEP_DEREF;
	else
		return cfa->kind == CFI_RULE_VAL_EXPRESSION && is_plt(arch, cfa->expression, row);
	row->cfa_reg = (uint8_t)reg;
	row->cfa_offset = (int32_t)offset;
	return reg < arch->regs->nr && fits(offset);
}

static bool compile_fp(const struct unwind_arch *arch, const struct cfi_rule *rule, struct row *row)
{
	uint64_t reg;
	int64_t offset = rule->offset;

	switch (rule->kind) {
	case CFI_RULE_SAME:
		row->fp = ROW_FP_SAME;
		return true;
	case CFI_RULE_UNDEFINED:
		row->fp = ROW_FP_LOST;
		return true;
	case CFI_RULE_OFFSET:
		row->fp = ROW_FP_AT_CFA;
		row->fp_offset = (int32_t)offset;
		return fits(offset);
	case CFI_RULE_EXPRESSION:
		if (!is_breg(rule->expression, &reg, &offset) || reg != arch->regs->fp)
			return false;
		row->fp = ROW_FP_AT_FP;
		row->fp_offset = (int32_t)offset;
		return fits(offset);
	case CFI_RULE_VAL_OFFSET:
	case CFI_RULE_REGISTER:
	case CFI_RULE_VAL_EXPRESSION:
		break;
	}
	return false;
}

static bool compile_ra(const struct unwind_arch *arch, const struct cfi_rule *rule, struct row *row)
{
	switch (rule->kind) {
	case CFI_RULE_SAME:
		row->ra = ROW_RA_IN_REG;
		/* A pc that is its own caller would be a loop. */
		return arch->regs->ra != arch->regs->pc;
	case CFI_RULE_OFFSET:
		row->ra = ROW_RA_AT_CFA;
		row->ra_offset = (int32_t)rule->offset;
		return fits(rule->offset);
	case CFI_RULE_UNDEFINED:
	case CFI_RULE_VAL_OFFSET:
	case CFI_RULE_REGISTER:
	case CFI_RULE_EXPRESSION:
	case CFI_RULE_VAL_EXPRESSION:
		break;
	}
	return false;
}

/* rax and x0: the first of __builtin_eh_return_data_regno() on both machines. */
#define EH_COLUMN 0

struct row row_compile(const struct unwind_arch *arch, const struct cfi_section *section,
		       const struct cfi_fde *fde, uint64_t address)
{
	const uint64_t columns[CFI_TRACKED_COUNT] = {[CFI_TRACKED_SP] = arch->regs->sp,
						     [CFI_TRACKED_FP] = arch->regs->fp,
						     [CFI_TRACKED_RA] = fde->ra_column,
						     [CFI_TRACKED_EH] = EH_COLUMN};
	struct cfi_rules rules;
	struct row row = {0};
	bool saves_eh;

	if (!cfi_rules_at(section, fde, columns, address, &rules) ||
	    rules.cfa.kind == CFI_RULE_UNDEFINED)
		return row_of_kind(ROW_BAD_CFI);
	if (rules.tracked[CFI_TRACKED_RA].kind == CFI_RULE_UNDEFINED)
		return row_of_kind(ROW_ROOT);
	if (fde->is_signal_frame &&
	    !(arch->signal_rows_are_steps && rules.cfa.kind == CFI_RULE_REGISTER))
		return row_of_kind(ROW_SIGNAL);
	if (fde->ra_column != arch->regs->ra)
		return row_of_kind(ROW_FALLBACK);
	/* Everywhere else the caller's stack pointer is the CFA. */
	if (rules.tracked[CFI_TRACKED_SP].kind != CFI_RULE_SAME)
		return (struct row){
			.kind = ROW_FALLBACK,
			.is_of_target = rules.tracked[CFI_TRACKED_SP].kind == CFI_RULE_REGISTER,
		};
	saves_eh = rules.tracked[CFI_TRACKED_EH].kind == CFI_RULE_OFFSET;
	if (!compile_cfa(arch, &rules.cfa, &row) ||
	    !compile_fp(arch, &rules.tracked[CFI_TRACKED_FP], &row) ||
	    !compile_ra(arch, &rules.tracked[CFI_TRACKED_RA], &row) ||
	    (row.kind == ROW_STEP_PLT && row.fp != ROW_FP_SAME))
		return (struct row){.kind = ROW_FALLBACK, .saves_eh = saves_eh};
	row.caller_is_exact = fde->is_signal_frame;
	row.saves_eh = saves_eh;
	return row;
}
