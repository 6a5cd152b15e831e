// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs line programs against the addresses wanted. */
#include <dwarf.h>

#include "dwarf/dwarf_line.h"
#include "dwarf/dwarf_range.h"
#include "dwarf/line_header.h"

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
	/* The last one that had a line; kept only while `last` has none. */
	struct line_row last_with_line;
	bool in_sequence, has_line;
	size_t next; /* the first address not below last.address */
	/* addresses[next], or UINT64_MAX: rows up to there resolve nothing. */
	uint64_t quiet_until;
};

static void reset_registers(struct line_run *run)
{
	run->row = (struct line_row){.file = 1, .line = 1};
}

static void set_next(struct line_run *run, size_t next)
{
	run->next = next;
	run->quiet_until = next < run->nr ? run->addresses[next] : UINT64_MAX;
}

/* The last row holds for the addresses below `end`. */
static void close_row(struct line_run *run, uint64_t end)
{
	size_t next = run->next;

	for (; next < run->nr && run->addresses[next] < end; next++) {
		struct line_match *match = &run->matches[next];

		match->found = true;
		match->row = run->last;
		match->has_previous = run->last.line == 0 && run->has_line;
		match->previous = run->last_with_line;
	}
	set_next(run, next);
}

/* Dropped functions leave sequences at address 0, or at the very end (see dwarf_range.c). */
static bool is_dropped(const struct line_run *run, uint64_t address)
{
	uint64_t max = run->header->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;

	return (address == 0 && !run->relocatable) || address >= max - 1;
}

static void begin_sequence(struct line_run *run)
{
	run->in_sequence = true;
	run->has_line = false;
	run->last =
		(struct line_row){.line = 0}; /* the row of the previous sequence does not apply */
	set_next(run, is_dropped(run, run->row.address)
			      ? run->nr
			      : addresses_at_or_above(run->addresses, run->nr, run->row.address));
}

/* The registers are a row that begins a sequence, or one that resolves addresses. */
static void emit_row(struct line_run *run)
{
	if (!run->in_sequence)
		begin_sequence(run);
	else if (run->row.address < run->last.address)
		/* Rows must ascend within a sequence; tolerate compilers that violate this. */
		set_next(run, addresses_at_or_above(run->addresses, run->nr, run->row.address));
	else
		close_row(run, run->row.address);
}

static void end_sequence(struct line_run *run)
{
	if (run->in_sequence && run->row.address >= run->last.address)
		close_row(run, run->row.address);
	run->in_sequence = false;
	reset_registers(run);
}

static void extended_opcode(struct line_run *run, struct cursor *cursor)
{
	uint64_t length = cursor_padded_uleb(cursor);
	struct cursor operands = *cursor;

	cursor_skip(cursor, length);
	if (cursor->failed || length == 0)
		return;
	operands.end = cursor->at;
	switch (cursor_byte(&operands)) {
	case DW_LNE_end_sequence:
		end_sequence(run);
		break;
	case DW_LNE_set_address:
		run->row.address = cursor_fixed(&operands, (unsigned int)cursor_left(&operands));
		break;
	case DW_LNE_set_discriminator:
		run->row.discriminator = (uint32_t)cursor_padded_uleb(&operands);
		break;
	}
}

/* The rare opcodes, kept out of the loop; none of them emits a row. */
static void rare_opcode(struct line_run *run, uint8_t opcode, struct cursor *cursor)
{
	switch (opcode) {
	case 0:
		extended_opcode(run, cursor);
		break;
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		break;
	case DW_LNS_const_add_pc:
		run->row.address += run->header->special_advance[255];
		break;
	case DW_LNS_fixed_advance_pc:
		run->row.address += cursor_u16(cursor);
		break;
	default: /* DW_LNS_set_isa, and what later versions add: the header says how to skip it */
		for (unsigned int i = 0; i < run->header->nr_operands[opcode]; i++)
			cursor_skip_leb(cursor);
	}
}

/*
 * The registers, the last row and the cursor are local here, and so in registers
 * of the processor: a program of a large unit has millions of opcodes, and few of
 * its rows decide anything.
 */
static bool run_program(struct line_run *run, struct dwarf_bytes program)
{
	const struct line_header *header = run->header;
	struct cursor cursor = dwarf_cursor_at(program, 0);
	struct line_row row = run->row, last = run->last;

	while (cursor.at < cursor.end) {
		uint8_t opcode = *cursor.at++;
		/* A header may define fewer standard opcodes: the others are special then. */
		uint8_t known = opcode < header->opcode_base ? opcode : UINT8_MAX;

		switch (known) {
		case DW_LNS_advance_pc:
			row.address += cursor_padded_uleb(&cursor) * header->min_instruction_bytes;
			continue;
		case DW_LNS_advance_line:
			row.line += (uint32_t)cursor_padded_sleb(&cursor);
			continue;
		case DW_LNS_set_file:
			row.file = (uint32_t)cursor_padded_uleb(&cursor);
			continue;
		case DW_LNS_set_column:
			row.column = (uint32_t)cursor_padded_uleb(&cursor);
			continue;
		case DW_LNS_negate_stmt:
			continue;
		case DW_LNS_copy:
			break;
		case UINT8_MAX:
			row.address += header->special_advance[opcode];
			row.line += (uint32_t)(int32_t)header->special_line[opcode];
			break;
		default: {
			struct cursor rest = cursor; /* its address would leave the registers */

			run->row = row;
			run->last = last;
			rare_opcode(run, opcode, &rest);
			row = run->row;
			cursor = rest;
			continue;
		}
		}
		if (!run->in_sequence || row.address < last.address ||
		    row.address > run->quiet_until) {
			run->row = row;
			run->last = last;
			emit_row(run);
			last = run->last;
		}
		if (!row.line && last.line) {
			run->last_with_line = last;
			run->has_line = true;
		}
		last = row;
		row.discriminator = 0;
	}
	return !cursor.failed;
}

/* Limit for one unit: hundreds of times the size of the largest ones. */
#define PROGRAM_BYTES_MAX (UINT64_C(1) << 28)

void dwarf_match_lines(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
		       struct line_match *matches)
{
	const struct line_header *header = dwarf_unit_lines(unit);
	struct line_run run = {.header = header,
			       .addresses = addresses,
			       .nr = nr,
			       .matches = matches,
			       .relocatable = unit->file->relocatable};
	struct dwarf_bytes program;

	if (!header || header->nr_program_bytes > PROGRAM_BYTES_MAX ||
	    !dwarf_file_work(unit->file, header->nr_program_bytes))
		return;
	reset_registers(&run);
	program = dwarf_file_read(unit->file, DWARF_LINE, header->program_offset,
				  header->nr_program_bytes);
	if (!run_program(&run, program))
		unit->file->damaged = true;
}
