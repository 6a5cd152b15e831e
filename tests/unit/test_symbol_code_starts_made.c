// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that no linker makes: the search for functions in their code ends soon, all the same. */
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/code_starts.h"
#include "tests/unit/unit.h"

/* A generous guard against a search without an end. */
#define PATIENCE_S 60

/* A file of some bytes of code, and sections that each claim to be all of them. */
struct made_file {
	uint8_t *bytes; /* owned */
	uint8_t *code;	/* in these */
	Elf *elf;
};

static void make_file(struct made_file *made, size_t nr_code_bytes, uint64_t address,
		      size_t nr_sections)
{
	size_t code_at = sizeof(Elf64_Ehdr), headers_at = code_at + nr_code_bytes;
	size_t nr_bytes = headers_at + (nr_sections + 1) * sizeof(Elf64_Shdr);
	Elf64_Ehdr header = {.e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_shoff = headers_at,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (Elf64_Half)(nr_sections + 1)};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	made->bytes = xcalloc(1, nr_bytes);
	made->code = made->bytes + code_at;
	memcpy(made->bytes, &header, sizeof(header));
	for (size_t i = 0; i < nr_sections; i++) {
		Elf64_Shdr section = {.sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = address + i * nr_code_bytes,
				      .sh_offset = code_at,
				      .sh_size = nr_code_bytes};

		memcpy(made->bytes + headers_at + (i + 1) * sizeof(section), &section,
		       sizeof(section));
	}
	elf_version(EV_CURRENT);
	made->elf = elf_memory((char *)made->bytes, nr_bytes);
	assert_non_null(made->elf);
}

static struct nameless_code find(struct made_file *made, uint64_t address)
{
	struct nameless_code row = {.address = address, .high = UINT64_MAX};

	alarm(PATIENCE_S);
	code_starts_find(made->elf, NULL, 0, &row, 1, NULL);
	alarm(0);
	elf_end(made->elf);
	free(made->bytes);
	return row;
}

#define ADDRESS UINT64_C(0x100000)
/* As many as are followed. */
#define ENTRIES 4096

/* lea table(%rip),%rdx, and then nothing but jmp *%rax. */
TEST(symbol_code_starts_made, many_jumps_by_one_table)
{
	static const uint8_t takes_table[] = {0x48, 0x8d, 0x15, 0, 0, 0, 0};
	const size_t nr_code_bytes = (size_t)8 << 20, table_at = nr_code_bytes - 4 * ENTRIES;
	int32_t to_table = (int32_t)(table_at - sizeof(takes_table));
	struct made_file made;
	struct nameless_code row;

	make_file(&made, nr_code_bytes, ADDRESS, 1);
	memcpy(made.code, takes_table, sizeof(takes_table));
	memcpy(made.code + 3, &to_table, sizeof(to_table));
	for (size_t i = sizeof(takes_table); i + 1 < table_at; i += 2)
		memcpy(made.code + i, "\xff\xe0", 2);
	/* The places are in the function: the last one is its end, so that it goes on. */
	for (size_t i = 0; i < ENTRIES; i++) {
		int32_t distance = i ? -16 : -1;

		memcpy(made.code + table_at + 4 * i, &distance, sizeof(distance));
	}
	row = find(&made, ADDRESS + 8);
	assert_int_equal(row.start, ADDRESS);
	assert_true(row.end > row.address);
}

/* All are the same bytes: so many bytes of code as the file has are read, and no more. */
TEST(symbol_code_starts_made, many_sections_of_the_same_bytes)
{
	const size_t nr_code_bytes = (size_t)32 << 20;
	struct made_file made;
	struct nameless_code row;

	make_file(&made, nr_code_bytes, ADDRESS, 60000);
	row = find(&made, ADDRESS + 8);
	assert_int_equal(row.start, ADDRESS);
}

/* What is behind the last instruction would be the first address of all. */
TEST(symbol_code_starts_made, code_at_the_end_of_the_address_space)
{
	struct made_file made;
	struct nameless_code row;

	make_file(&made, 4095, UINT64_MAX - 4095, 1);
	memset(made.code, 0x06, 4095); /* no instruction */
	row = find(&made, UINT64_MAX - 2);
	assert_int_equal(row.start, row.end);
}
