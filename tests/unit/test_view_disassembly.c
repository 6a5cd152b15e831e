// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

static void test_disassembly__is_taken_apart(void **state)
{
	static const struct disassembly_line expected[] = {
		{DISASSEMBLY_FUNCTION, 0x1200, "<work>:", 0},
		{DISASSEMBLY_POSITION, 0, "/src/a b:c/prog.c", 12},
		{DISASSEMBLY_INSTRUCTION, 0x1200, "movabs $0x9e3779b97f4a7c15,%r8", 0},
		{DISASSEMBLY_POSITION, 0, "/src/prog.c", 23},
		{DISASSEMBLY_INSTRUCTION, 0x120a, "jne    1200 <work>", 0},
	};
	struct disassembly disassembly = {0};

	(void)state;
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

static void test_disassembly__of_nothing_is_empty(void **state)
{
	struct disassembly disassembly = {0};

	(void)state;
	disassembly_parse(&disassembly);
	assert_int_equal(disassembly.nr, 0);
	disassembly_release(&disassembly);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disassembly__is_taken_apart),
		cmocka_unit_test(test_disassembly__of_nothing_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
