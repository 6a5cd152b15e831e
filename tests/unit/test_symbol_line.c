// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/buf.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/line_header.h"
#include "tests/unit/dwarf_bytes.h"
#include "tests/unit/unit.h"

/* line_base -5, line_range 14, opcode_base 13: a special opcode is 18 + 14 * pc + line. */
#define SPECIAL(pc, line) (uint8_t)(18 + 14 * (pc) + (line))
#define SET_ADDRESS(n)	  0, 9, 2, U64(n)
#define END_SEQUENCE	  0, 1, 1
#define SET_FILE(n)	  4, n
#define SET_COLUMN(n)	  5, n
#define ADVANCE_PC(n)	  2, n
#define ADVANCE_LINE(n)	  3, (uint8_t)((n)&0x7f)

static const uint8_t header_4[] = {
	U16(4),		      /* version */
	U32(6 + 12 + 5 + 10), /* bytes of header that follow */
	1,
	1,
	1,
	0xfb,
	14,
	13, /* instruction, operations, is_stmt, base, range, opcodes */
	0,
	1,
	1,
	1,
	1,
	0,
	0,
	0,
	1,
	0,
	0,
	1, /* operands */
	'i',
	'n',
	'c',
	0,
	0, /* directory 1, end */
	'a',
	0,
	0,
	0,
	0,
	'b',
	0,
	1,
	0,
	0, /* files 1 and 2 */
};

/* A unit of nothing but a line table with this program. */
struct fixture {
	struct dwarf_unit unit;
	struct dwarf_file file;
	struct buf line;
};

static void begin(struct fixture *fixture, const uint8_t *program, size_t nr)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT] = {{.at = NULL}};

	*fixture = (struct fixture){.line = {.nr_bytes = 0}};
	/* The end of the file table, which the header's count leaves to the program's start. */
	buf_append_u32(&fixture->line, (uint32_t)(sizeof(header_4) + 1 + nr));
	buf_append(&fixture->line, header_4, sizeof(header_4));
	buf_append_byte(&fixture->line, 0);
	buf_append(&fixture->line, program, nr);
	fixture->line.bytes[6] = (uint8_t)(sizeof(header_4) + 1 - 6);
	sections[DWARF_LINE] =
		(struct dwarf_bytes){.at = fixture->line.bytes, .nr = fixture->line.nr_bytes};
	dwarf_file_init(&fixture->file, sections);
	fixture->unit = (struct dwarf_unit){
		.file = &fixture->file,
		.encoding = {.version = 4, .address_bytes = 8, .offset_bytes = 4},
		.has_line_table = true,
		.directory = "/build",
	};
}

static void end(struct fixture *fixture)
{
	line_header_free(fixture->unit.lines);
	dwarf_file_release(&fixture->file);
	buf_release(&fixture->line);
}

#define MATCH(fixture, program, addresses, matches)                                                \
	do {                                                                                       \
		begin(fixture, program, sizeof(program));                                          \
		dwarf_match_lines(&(fixture)->unit, addresses, ARRAY_SIZE(addresses), matches);    \
	} while (0)

static void assert_line(const struct line_match *match, uint32_t file, uint32_t line)
{
	assert_true(match->found);
	assert_int_equal(match->row.file, file);
	assert_int_equal(match->row.line, line);
}

TEST(symbol_line, row_holds_until_the_next)
{
	static const uint8_t program[] = {SET_ADDRESS(0x1000), SPECIAL(0, 3), SET_COLUMN(7),
					  SPECIAL(4, 1),       SET_FILE(2),   SPECIAL(4, -2),
					  ADVANCE_PC(4),       END_SEQUENCE};
	static const uint64_t addresses[] = {0xfff, 0x1000, 0x1003, 0x1004, 0x100b, 0x100c};
	struct line_match matches[ARRAY_SIZE(addresses)] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_false(matches[0].found);
	assert_line(&matches[1], 1, 4);
	assert_line(&matches[2], 1, 4);
	assert_line(&matches[3], 1, 5);
	assert_int_equal(matches[3].row.column, 7);
	assert_line(&matches[4], 2, 3);
	assert_false(matches[5].found);
	assert_false(fixture.file.damaged);
	end(&fixture);
}

TEST(symbol_line, sequences_come_in_any_order)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x3000), SPECIAL(0, 2), ADVANCE_PC(8), END_SEQUENCE,
		SET_ADDRESS(0x1000), SPECIAL(0, 0), ADVANCE_PC(8), END_SEQUENCE,
	};
	static const uint64_t addresses[] = {0x1004, 0x2000, 0x3004};
	struct line_match matches[ARRAY_SIZE(addresses)] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_line(&matches[0], 1, 1);
	assert_false(matches[1].found);
	assert_line(&matches[2], 1, 3);
	end(&fixture);
}

TEST(symbol_line, dropped_functions_have_no_lines)
{
	static const uint8_t program[] = {SET_ADDRESS(0), SPECIAL(0, 8), ADVANCE_PC(0x40),
					  END_SEQUENCE};
	static const uint64_t addresses[] = {0x10};
	struct line_match matches[1] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_false(matches[0].found);
	fixture.file.relocatable = true;
	dwarf_match_lines(&fixture.unit, addresses, 1, matches);
	assert_line(&matches[0], 1, 9);
	end(&fixture);
}

TEST(symbol_line, line_zero_remembers_the_line_before)
{
	static const uint8_t program[] = {SET_ADDRESS(0x1000), SPECIAL(0, 4),	 ADVANCE_LINE(-5),
					  SPECIAL(4, 0),       ADVANCE_PC(4),	 END_SEQUENCE,
					  SET_ADDRESS(0x2000), ADVANCE_LINE(-1), SPECIAL(0, 0),
					  ADVANCE_PC(4),       END_SEQUENCE};
	static const uint64_t addresses[] = {0x1005, 0x2001};
	struct line_match matches[ARRAY_SIZE(addresses)] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_line(&matches[0], 1, 0);
	assert_true(matches[0].has_previous);
	assert_int_equal(matches[0].previous.line, 5);
	assert_int_equal(matches[0].previous.address, 0x1000);
	assert_line(&matches[1], 1, 0);
	assert_false(matches[1].has_previous); /* that was another sequence */
	end(&fixture);
}

TEST(symbol_line, unknown_opcodes_are_skipped)
{
	static const uint8_t program[] = {SET_ADDRESS(0x1000),
					  12,
					  0x81,
					  0x01, /* set_isa */
					  0,
					  4,
					  0x80,
					  1,
					  2,
					  3, /* of a vendor */
					  SPECIAL(0, 6),
					  ADVANCE_PC(4),
					  END_SEQUENCE};
	static const uint64_t addresses[] = {0x1000};
	struct line_match matches[1] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_line(&matches[0], 1, 7);
	end(&fixture);
}

TEST(symbol_line, program_cut_short_keeps_what_was_said)
{
	static const uint8_t program[] = {SET_ADDRESS(0x1000), SPECIAL(0, 1), SPECIAL(4, 1),
					  ADVANCE_PC(0x80)};
	static const uint64_t addresses[] = {0x1002, 0x1006};
	struct line_match matches[ARRAY_SIZE(addresses)] = {{.found = false}};
	struct fixture fixture;

	MATCH(&fixture, program, addresses, matches);
	assert_line(&matches[0], 1, 2);
	assert_false(matches[1].found);
	assert_true(fixture.file.damaged);
	end(&fixture);
}

TEST(symbol_line, paths_are_put_together)
{
	static const uint8_t program[] = {END_SEQUENCE};
	const struct line_header *header;
	struct fixture fixture;
	char *path;

	begin(&fixture, program, sizeof(program));
	header = dwarf_unit_lines(&fixture.unit);
	assert_non_null(header);
	path = line_file_path(&fixture.unit, header, 1);
	assert_string_equal(path, "/build/a");
	free(path);
	path = line_file_path(&fixture.unit, header, 2);
	assert_string_equal(path, "/build/inc/b");
	free(path);
	assert_null(line_file_path(&fixture.unit, header, 0));
	assert_null(line_file_path(&fixture.unit, header, 3));
	end(&fixture);
}

TEST(symbol_line, version_5_counts_files_from_0)
{
	static const uint8_t line[] = {
		U32(47), U16(5), 8,    0, U32(39), 1, 1, 1, 0xfb, 14, 13, 0,
		1,	 1,	 1,    1, 0,	   0, 0, 1, 0,	  0,  1, /* operands */
		1,	 1,	 0x08,			 /* directories: DW_LNCT_path, string */
		2,	 '/',	 's',  0, 'd',	   0,	 /* two */
		2,	 1,	 0x08, 2, 0x0b,		 /* files: path, string; directory, data1 */
		2,	 'a',	 0,    0, 'b',	   0, 1, /* two */
	};
	struct dwarf_bytes sections[DWARF_SECTION_COUNT] = {{.at = NULL}};
	struct dwarf_file file;
	struct dwarf_unit unit = {
		.file = &file,
		.encoding = {.version = 5, .address_bytes = 8, .offset_bytes = 4},
		.has_line_table = true,
		.directory = "/s",
	};
	char *path;

	sections[DWARF_LINE] = (struct dwarf_bytes){.at = line, .nr = sizeof(line)};
	dwarf_file_init(&file, sections);
	assert_non_null(dwarf_unit_lines(&unit));
	path = line_file_path(&unit, dwarf_unit_lines(&unit), 0);
	assert_string_equal(path, "/s/a");
	free(path);
	path = line_file_path(&unit, dwarf_unit_lines(&unit), 1);
	assert_string_equal(path, "/s/d/b");
	free(path);
	line_header_free(unit.lines);
	dwarf_file_release(&file);
}

TEST(symbol_line, lying_headers_are_refused)
{
	/* Offsets of bytes in the section, and what is written there. */
	static const struct {
		size_t at;
		uint8_t byte;
	} lies[] = {
		{3, 0x7f},  /* length beyond the section */
		{4, 9},	    /* version */
		{9, 0x7f},  /* header longer than all */
		{14, 0},    /* line_range: division by it */
		{15, 0},    /* opcode_base */
		{15, 0xff}, /* more operands than there are bytes */
	};
	static const uint8_t program[] = {SET_ADDRESS(0x1000), SPECIAL(0, 1), END_SEQUENCE};
	static const uint64_t addresses[] = {0x1000};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct line_match matches[1] = {{.found = false}};
		struct fixture fixture;

		begin(&fixture, program, sizeof(program));
		fixture.line.bytes[lies[i].at] = lies[i].byte;
		dwarf_match_lines(&fixture.unit, addresses, 1, matches);
		assert_false(matches[0].found);
		assert_true(fixture.file.damaged);
		end(&fixture);
	}
}
