// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/disassembly.h"
#include "cmd/search_path.h"

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

static void test_shell_word__nothing_gets_out_of_the_quotes(void **state)
{
	struct buf command = {0};

	(void)state;
	append_shell_word(&command, "it's $(here); `x`");
	assert_string_equal(buf_str(&command), "'it'\\''s $(here); `x`'");
	buf_release(&command);
}

static void test_shell_word__plain_words_stay_plain(void **state)
{
	struct buf command = {0};

	(void)state;
	append_shell_word(&command, "/tmp/a-b_c.data");
	buf_append_byte(&command, ' ');
	append_shell_word(&command, "");
	assert_string_equal(buf_str(&command), "/tmp/a-b_c.data ''");
	buf_release(&command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disassembly__is_taken_apart),
		cmocka_unit_test(test_disassembly__of_nothing_is_empty),
		cmocka_unit_test(test_shell_word__nothing_gets_out_of_the_quotes),
		cmocka_unit_test(test_shell_word__plain_words_stay_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
