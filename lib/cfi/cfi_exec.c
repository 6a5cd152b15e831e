// SPDX-License-Identifier: GPL-2.0-or-later
/* Executes the instructions of call frame information up to an address. */
#include "cfi/cfi.h"

/* DWARF 5 table 7.29; the low six bits of the first three hold an operand. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* on SPARC: GNU_window_save */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* gcc nests two or three deep. */
#define REMEMBERED_MAX 32

struct machine {
	const struct cfi_section *section;
	const struct cfi_fde *fde;
	const uint64_t *columns;
	struct cursor at;
	uint64_t location;
	struct cfi_rules rules;
	struct cfi_rules initial; /* after the CIE's instructions, for CFA_RESTORE */
	struct cfi_rules remembered[REMEMBERED_MAX];
	size_t nr_remembered;
};

static void set_rule(struct machine *machine, uint64_t column, struct cfi_rule rule)
{
	for (unsigned int i = 0; i < CFI_TRACKED_COUNT; i++) {
		if (machine->columns[i] == column)
			machine->rules.tracked[i] = rule;
	}
}

static void set_kind(struct machine *machine, uint64_t column, enum cfi_rule_kind kind)
{
	set_rule(machine, column, (struct cfi_rule){.kind = kind});
}

/* A factored offset, which wraps rather than traps if the file is damaged. */
static int64_t scaled(const struct machine *machine, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)machine->fde->data_align);
}

static void set_offset(struct machine *machine, uint64_t column, uint64_t factored)
{
	set_rule(machine, column,
		 (struct cfi_rule){.kind = CFI_RULE_OFFSET,

				   .offset = scaled(machine, factored)});
}

static void set_val_offset(struct machine *machine, uint64_t column, uint64_t factored)
{
	set_rule(machine, column,
		 (struct cfi_rule){.kind = CFI_RULE_VAL_OFFSET,

				   .offset = scaled(machine, factored)});
}

static void restore(struct machine *machine, uint64_t column)
{
	for (unsigned int i = 0; i < CFI_TRACKED_COUNT; i++) {
		if (machine->columns[i] == column)
			machine->rules.tracked[i] = machine->initial.tracked[i];
	}
}

static struct cursor read_block(struct machine *machine)
{
	uint64_t nr_bytes = cursor_uleb(&machine->at);
	const uint8_t *bytes = cursor_bytes(&machine->at, nr_bytes);

	return cursor_over(bytes ? bytes : machine->at.at, bytes ? nr_bytes : 0);
}

static void def_cfa(struct machine *machine, uint64_t reg, int64_t offset)
{
	machine->rules.cfa =
		(struct cfi_rule){.kind = CFI_RULE_REGISTER, .reg = reg, .offset = offset};
}

static void remember(struct machine *machine)
{
	if (machine->nr_remembered == REMEMBERED_MAX)
		machine->at.failed = true;
	else
		machine->remembered[machine->nr_remembered++] = machine->rules;
}

static void recall(struct machine *machine)
{
	if (!machine->nr_remembered)
		machine->at.failed = true;
	else
		machine->rules = machine->remembered[--machine->nr_remembered];
}

static void advance(struct machine *machine, uint64_t delta)
{
	machine->location += delta * machine->fde->code_align;
}

static uint64_t read_u16(struct cursor *at)
{
	uint64_t low = cursor_byte(at);

	return low | (uint64_t)cursor_byte(at) << 8;
}

/* Instructions that set the location from which the following rules hold. */
static bool execute_location(struct machine *machine, uint8_t op)
{
	struct cursor *at = &machine->at;

	switch (op) {
	case CFA_SET_LOC:
		machine->location =
			cfi_pointer(machine->section, at, machine->fde->pointer_encoding);
		return true;
	case CFA_ADVANCE_LOC1:
		advance(machine, cursor_byte(at));
		return true;
	case CFA_ADVANCE_LOC2:
		advance(machine, read_u16(at));
		return true;
	case CFA_ADVANCE_LOC4:
		advance(machine, cursor_u32(at));
		return true;
	case CFA_MIPS_ADVANCE_LOC8:
		advance(machine, cursor_u64(at));
		return true;
	default: /* another group's */
		return false;
	}
}

static bool execute_cfa(struct machine *machine, uint8_t op)
{
	struct cursor *at = &machine->at;
	struct cfi_rule *cfa = &machine->rules.cfa;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(at);
		def_cfa(machine, reg, (int64_t)cursor_uleb(at));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(at);
		def_cfa(machine, reg, scaled(machine, (uint64_t)cursor_padded_sleb(at)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		at->failed |= cfa->kind != CFI_RULE_REGISTER;
		cfa->reg = cursor_uleb(at);
		return true;
	case CFA_DEF_CFA_OFFSET:
		at->failed |= cfa->kind != CFI_RULE_REGISTER;
		cfa->offset = (int64_t)cursor_uleb(at);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		at->failed |= cfa->kind != CFI_RULE_REGISTER;
		cfa->offset = scaled(machine, (uint64_t)cursor_padded_sleb(at));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		*cfa = (struct cfi_rule){.kind = CFI_RULE_VAL_EXPRESSION,
					 .expression = read_block(machine)};
		return true;
	default: /* another group's */
		return false;
	}
}

static bool execute_register(struct machine *machine, uint8_t op)
{
	struct cursor *at = &machine->at;
	uint64_t column;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		column = cursor_uleb(at);
		set_offset(machine, column, cursor_uleb(at));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		column = cursor_uleb(at);
		set_offset(machine, column, (uint64_t)cursor_padded_sleb(at));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		column = cursor_uleb(at);
		set_offset(machine, column, 0 - cursor_uleb(at));
		return true;
	case CFA_VAL_OFFSET:
		column = cursor_uleb(at);
		set_val_offset(machine, column, cursor_uleb(at));
		return true;
	case CFA_VAL_OFFSET_SF:
		column = cursor_uleb(at);
		set_val_offset(machine, column, (uint64_t)cursor_padded_sleb(at));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(machine, cursor_uleb(at));
		return true;
	case CFA_UNDEFINED:
		set_kind(machine, cursor_uleb(at), CFI_RULE_UNDEFINED);
		return true;
	case CFA_SAME_VALUE:
		set_kind(machine, cursor_uleb(at), CFI_RULE_SAME);
		return true;
	case CFA_REGISTER:
		column = cursor_uleb(at);
		set_rule(machine, column,
			 (struct cfi_rule){.kind = CFI_RULE_REGISTER, .reg = cursor_uleb(at)});
		return true;
	case CFA_EXPRESSION:
		column = cursor_uleb(at);
		set_rule(machine, column,
			 (struct cfi_rule){.kind = CFI_RULE_EXPRESSION,
					   .expression = read_block(machine)});
		return true;
	case CFA_VAL_EXPRESSION:
		column = cursor_uleb(at);
		set_rule(machine, column,
			 (struct cfi_rule){.kind = CFI_RULE_VAL_EXPRESSION,
					   .expression = read_block(machine)});
		return true;
	default: /* another group's */
		return false;
	}
}

static bool execute_other(struct machine *machine, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_AARCH64_NEGATE_RA_STATE: /* signatures are stripped from every return address */
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return true;
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb(&machine->at);
		return true;
	case CFA_REMEMBER_STATE:
		remember(machine);
		return true;
	case CFA_RESTORE_STATE:
		recall(machine);
		return true;
	default: /* none that DWARF knows */
		return false;
	}
}

static void execute(struct machine *machine)
{
	uint8_t byte = cursor_byte(&machine->at);
	uint8_t operand = byte & 0x3f;

	switch (byte & 0xc0) {
	case CFA_ADVANCE_LOC:
		advance(machine, operand);
		return;
	case CFA_OFFSET:
		set_offset(machine, operand, cursor_uleb(&machine->at));
		return;
	case CFA_RESTORE:
		restore(machine, operand);
		return;
	default: /* the operand is part of the opcode */
		break;
	}
	if (!execute_location(machine, byte) && !execute_cfa(machine, byte) &&
	    !execute_register(machine, byte) && !execute_other(machine, byte))
		machine->at.failed = true;
}

bool cfi_rules_at(const struct cfi_section *section, const struct cfi_fde *fde,
		  const uint64_t columns[CFI_TRACKED_COUNT], uint64_t address,
		  struct cfi_rules *rules)
{
	struct machine machine = {.section = section,
				  .fde = fde,
				  .columns = columns,
				  .at = fde->initial_instructions,
				  .rules.cfa.kind = CFI_RULE_UNDEFINED};

	if (cursor_left(&fde->initial_instructions) > CFI_INSTRUCTION_BYTES_MAX)
		return false;
	while (cursor_left(&machine.at) && !machine.at.failed)
		execute(&machine);
	if (machine.at.failed)
		return false;
	machine.initial = machine.rules;
	machine.at = fde->instructions;
	machine.location = fde->start;
	while (cursor_left(&machine.at) && !machine.at.failed) {
		execute(&machine);
		/* the last instruction moved the location past address, and changed no rule */
		if (machine.location > address)
			break;
		machine.at.failed |=
			machine.at.at - fde->instructions.at > (ptrdiff_t)CFI_INSTRUCTION_BYTES_MAX;
	}
	*rules = machine.rules;
	return !machine.at.failed;
}
