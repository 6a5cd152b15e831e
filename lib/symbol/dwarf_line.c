// SPDX-License-Identifier: GPL-2.0-or-later
#include <dwarf.h>

#include "symbol/dwarf_line_priv.h"
#include "symbol/dwarf_range.h"

/* The state machine of DWARF 5 section 6.2.2, and the addresses it runs against. */
struct line_run {
	const struct line_header *header;
	const uint64_t *addresses;
	size_t nr;
	struct line_match *matches;
	bool relocatable;

	struct line_row row; /* the registers */
	/* The row in force up to the address of the next one. */
	struct line_row last;
	struct line_row last_with_line;
	bool in_sequence, has_line;
	size_t next; /* the first address not below last.address */
};

static void reset_registers(struct line_run *run)
{
	run->row = (struct line_row){.file = 1, .line = 1};
}

/* The last row holds for the addresses below `end`. */
static inline void close_row(struct line_run *run, uint64_t end)
{
	for (; run->next < run->nr && run->addresses[run->next] < end; run->next++) {
		struct line_match *match = &run->matches[run->next];

		match->found = true;
		match->row = run->last;
		match->has_previous = run->has_line;
		match->previous = run->last_with_line;
	}
}

static inline void begin_row(struct line_run *run)
{
	run->last = run->row;
	if (run->row.line) {
		run->last_with_line = run->row;
		run->has_line = true;
	}
}

/* Dropped functions leave sequences at address 0, or at the very end (see dwarf_range.c). */
static bool is_dropped(const struct line_run *run, uint64_t address)
{
	uint64_t max = run->header->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;

	return (address == 0 && !run->relocatable) || address >= max - 1;
}

static inline void emit_row(struct line_run *run)
{
	if (!run->in_sequence) {
		run->in_sequence = true;
		run->has_line = false;
		run->next =
			is_dropped(run, run->row.address)
				? run->nr
				: addresses_at_or_above(run->addresses, run->nr, run->row.address);
	} else if (run->row.address < run->last.address) {
		/* Rows shall not go back within a sequence; a compiler's slip is no reason to fail.
		 */
		run->next = addresses_at_or_above(run->addresses, run->nr, run->row.address);
	} else {
		close_row(run, run->row.address);
	}
	begin_row(run);
	run->row.discriminator = 0;
}

static void end_sequence(struct line_run *run)
{
	if (run->in_sequence && run->row.address >= run->last.address)
		close_row(run, run->row.address);
	run->in_sequence = false;
	reset_registers(run);
}

static void extended_opcode(struct line_run *run, struct dwarf_cursor *cursor)
{
	uint64_t length = dwarf_uleb(cursor);
	struct dwarf_cursor operands = *cursor;

	dwarf_skip(cursor, length);
	if (cursor->failed || length == 0)
		return;
	operands.end = cursor->at;
	switch (dwarf_u8(&operands)) {
	case DW_LNE_end_sequence:
		end_sequence(run);
		break;
	case DW_LNE_set_address:
		run->row.address = dwarf_fixed(&operands, (unsigned int)dwarf_left(&operands));
		break;
	case DW_LNE_set_discriminator:
		run->row.discriminator = (uint32_t)dwarf_uleb(&operands);
		break;
	}
}

static void advance(struct line_run *run, uint64_t operations)
{
	run->row.address += operations * run->header->min_instruction_bytes;
}

static void standard_opcode(struct line_run *run, uint8_t opcode, struct dwarf_cursor *cursor)
{
	const struct line_header *header = run->header;

	switch (opcode) {
	case DW_LNS_copy:
		emit_row(run);
		break;
	case DW_LNS_advance_pc:
		advance(run, dwarf_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		run->row.line += (uint32_t)dwarf_sleb(cursor);
		break;
	case DW_LNS_set_file:
		run->row.file = (uint32_t)dwarf_uleb(cursor);
		break;
	case DW_LNS_set_column:
		run->row.column = (uint32_t)dwarf_uleb(cursor);
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		break;
	case DW_LNS_const_add_pc:
		advance(run, (255U - header->opcode_base) / header->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		run->row.address += dwarf_u16(cursor);
		break;
	default: /* DW_LNS_set_isa, and what later versions add: the header says how to skip it */
		for (unsigned int i = 0; i < header->nr_operands[opcode]; i++)
			dwarf_skip_leb(cursor);
	}
}

void dwarf_match_lines(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
		       struct line_match *matches)
{
	const struct line_header *header = dwarf_unit_lines(unit);
	struct line_run run = {.header = header,
			       .addresses = addresses,
			       .nr = nr,
			       .matches = matches,
			       .relocatable = unit->file->relocatable};
	struct dwarf_cursor cursor;

	if (!header || !dwarf_file_work(unit->file, header->program.nr))
		return;
	cursor = dwarf_cursor_at(header->program, 0);
	reset_registers(&run);
	while (cursor.at < cursor.end) {
		uint8_t opcode = *cursor.at++;

		if (opcode >= header->opcode_base) {
			unsigned int special = (unsigned int)opcode - header->opcode_base;

			advance(&run, special / header->line_range);
			run.row.line +=
				(uint32_t)(header->line_base + (int)(special % header->line_range));
			emit_row(&run);
		} else if (opcode == 0) {
			extended_opcode(&run, &cursor);
		} else {
			standard_opcode(&run, opcode, &cursor);
		}
	}
	if (cursor.failed)
		unit->file->damaged = true;
}
