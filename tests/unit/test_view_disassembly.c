// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"
#include "view/asm_lines.h"
#include "view/asm_text.h"
#include "view/disassembly.h"

static const char output[] = "\n"
			     "/bin/prog:     file format elf64-x86-64\n"
			     "\n"
			     "Disassembly of section .text:\n"
			     "\n"
			     "0000000000001200 <work>:\n"
			     "inner():\n"
			     "/src/a b:c/prog.c:12 (discriminator 3)\n"
			     "    1200:\tmovabs $0x9e3779b97f4a7c15,%r8\n"
			     "work():\n"
			     "/src/prog.c:23\n"
			     "    120a:\tjne    1200 <work>\n"
			     "\t...\n";

TEST(disassembly, is_taken_apart)
{
	static const struct disassembly_line expected[] = {
		{DISASSEMBLY_FUNCTION, 0x1200, "<work>:", 0},
		{DISASSEMBLY_POSITION, 0, "/src/a b:c/prog.c", 12},
		{DISASSEMBLY_INSTRUCTION, 0x1200, "movabs $0x9e3779b97f4a7c15,%r8", 0},
		{DISASSEMBLY_POSITION, 0, "/src/prog.c", 23},
		{DISASSEMBLY_INSTRUCTION, 0x120a, "jne    1200 <work>", 0},
	};
	struct disassembly disassembly = {0};

	buf_append_str(&disassembly.output, output);
	disassembly_parse(&disassembly);
	assert_int_equal(disassembly.nr, 5);
	for (size_t i = 0; i < disassembly.nr; i++) {
		const struct disassembly_line *line = &disassembly.lines[i];

		assert_int_equal(line->kind, expected[i].kind);
		assert_int_equal(line->address, expected[i].address);
		assert_string_equal(line->text, expected[i].text);
		assert_int_equal(line->line, expected[i].line);
	}
	disassembly_release(&disassembly);
}

TEST(disassembly, targets_in_code_without_symbols_are_counted_from_its_start)
{
	static const char code[] = " 1110:\tjne    112c <__cxa_finalize@plt+0x118>\n"
				   " 1112:\tcall   1030 <strlen@plt>\n"
				   " 1117:\tcall   1290 <__cxa_finalize@plt+0x2b8>\n"
				   " 111c:\tmov    0x2f04(%rip),%rax        # 4028 <stdout+0x8>\n"
				   " 1123:\tret\n";
	static const char *const expected[] = {
		"jne    +0x1c", "call   1030 <strlen@plt>", "call   1290",
		"mov    0x2f04(%rip),%rax        # 4028 <stdout+0x8>", "ret"};
	struct disassembly disassembly = {0};

	buf_append_str(&disassembly.output, code);
	disassembly_parse(&disassembly);
	disassembly_count_targets(&disassembly, 0x1110, 0x1140);
	assert_int_equal(disassembly.nr, 5);
	for (size_t i = 0; i < disassembly.nr; i++)
		assert_string_equal(disassembly.lines[i].text, expected[i]);
	disassembly_release(&disassembly);
}

TEST(disassembly, of_nothing_is_empty)
{
	struct disassembly disassembly = {0};

	disassembly_parse(&disassembly);
	assert_int_equal(disassembly.nr, 0);
	disassembly_release(&disassembly);
}

/* Only one file is at hand. */
static const char *line_of_prog(void *context, const char *path, uint32_t line)
{
	(void)context;
	return strcmp(path, "/src/prog.c") == 0 && line == 23 ? "\twhile (rounds--)" : NULL;
}

TEST(asm_lines, have_the_source_before_the_instructions)
{
	static const char *const expected[] = {
		"<work>:",
		"prog.c:12",
		"movabs $0x9e3779b97f4a7c15,%r8",
		"prog.c:23  while (rounds--)",
		"jne    1200 <work>",
	};
	struct disassembly disassembly = {0};
	struct asm_lines lines = {0};

	buf_append_str(&disassembly.output, output);
	disassembly_parse(&disassembly);
	asm_lines_append(&lines, &disassembly, line_of_prog, NULL);
	assert_int_equal(lines.nr, 5);
	for (size_t i = 0; i < lines.nr; i++) {
		assert_string_equal(lines.lines[i].text, expected[i]);
		assert_int_equal(lines.lines[i].is_source, !lines.lines[i].address);
	}
	asm_lines_release(&lines);
	disassembly_release(&disassembly);
}
