// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "proc/program.h"
#include "tests/unit/unit.h"

static const char *bits_of(unsigned char class, uint16_t machine)
{
	Elf32_Ehdr header = {.e_machine = machine};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = class;
	return proc_program_32_bit(&header, sizeof(header));
}

TEST(program, 32_bit_ones_are_named)
{
	assert_string_equal(bits_of(ELFCLASS32, EM_386), "i386");
	assert_string_equal(bits_of(ELFCLASS32, EM_X86_64), "x32");
	assert_string_equal(bits_of(ELFCLASS32, EM_ARM), "arm");
	assert_string_equal(bits_of(ELFCLASS32, EM_MIPS), "32-bit");
}

TEST(program, others_are_not)
{
	static const char script[] = "#!/bin/sh\nexec something-else\n";

	assert_null(bits_of(ELFCLASS64, EM_X86_64));
	assert_null(bits_of(ELFCLASS64, EM_AARCH64));
	assert_null(proc_program_32_bit(script, sizeof(script)));
	assert_null(proc_program_32_bit(ELFMAG "\1", 5)); /* cut before it says which */
	assert_null(proc_program_32_bit(NULL, 0));
	assert_null(proc_program_process_32_bit(getpid()));
	assert_null(proc_program_process_32_bit(0)); /* nobody's */
}

TEST(program, its_entry_is_that_of_its_file)
{
	assert_true(proc_program_entry(getpid()) == getauxval(AT_ENTRY));
	assert_int_equal(proc_program_entry(0), 0); /* nobody's */
}
