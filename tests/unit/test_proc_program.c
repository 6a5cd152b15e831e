// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "proc/program.h"

static const char *bits_of(unsigned char class, uint16_t machine)
{
	Elf32_Ehdr header = {.e_machine = machine};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = class;
	return proc_program_32_bit(&header, sizeof(header));
}

static void test_program__32_bit_ones_are_named(void **state)
{
	(void)state;
	assert_string_equal(bits_of(ELFCLASS32, EM_386), "i386");
	assert_string_equal(bits_of(ELFCLASS32, EM_X86_64), "x32");
	assert_string_equal(bits_of(ELFCLASS32, EM_ARM), "arm");
	assert_string_equal(bits_of(ELFCLASS32, EM_MIPS), "32-bit");
}

static void test_program__others_are_not(void **state)
{
	static const char script[] = "#!/bin/sh\nexec something-else\n";

	(void)state;
	assert_null(bits_of(ELFCLASS64, EM_X86_64));
	assert_null(bits_of(ELFCLASS64, EM_AARCH64));
	assert_null(proc_program_32_bit(script, sizeof(script)));
	assert_null(proc_program_32_bit(ELFMAG "\1", 5)); /* cut before it says which */
	assert_null(proc_program_32_bit(NULL, 0));
	assert_null(proc_program_process_32_bit(getpid()));
	assert_null(proc_program_process_32_bit(0)); /* nobody's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program__32_bit_ones_are_named),
		cmocka_unit_test(test_program__others_are_not),
	};

	return cmocka_run_group_tests_name("proc program", tests, NULL, NULL);
}
