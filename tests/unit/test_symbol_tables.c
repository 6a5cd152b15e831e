// SPDX-License-Identifier: GPL-2.0-or-later
#include <gelf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbol/object.h"
#include "symbol/symbol.h"
#include "symbol/symbol_tables.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

/* All symbols in a section are as libdwfl has them. Returns how many there are. */
static size_t check_all(const char *path)
{
	const struct symbol_options options = {.sysroot = NULL};
	const struct symbol_request request = {.path = path, .fd = -1, .tables_only = true};
	struct symbol_object object;
	struct symbol_tables tables;
	struct table_symbol found;
	size_t nr = 0;

	assert_int_equal(symbol_object_open(&object, &options, &request, NULL), 0);
	symbol_tables_init(&tables, object.module);
	assert_non_null(tables.symbols);
	for (int i = 0; i < tables.nr; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		Elf *elf;
		Dwarf_Addr bias;
		const char *name = dwfl_module_getsym_info(object.module, i, &symbol, &value,
							   &section, &elf, &bias);

		assert_int_equal(symbol_tables_get(&tables, i, &found), name != NULL);
		if (!name)
			continue;
		assert_ptr_equal(found.name, name);
		assert_memory_equal(&found.symbol, &symbol, sizeof(symbol));
		assert_int_equal(found.value, value);
		assert_int_equal(found.section, section);
		assert_ptr_equal(found.elf, elf);
		nr += section != SHN_UNDEF && section < SHN_LORESERVE;
	}
	symbol_object_close(&object);
	return nr;
}

TEST(symbol_tables, are_as_libdwfl_has_them)
{
	assert_true(check_all("/proc/self/exe") > 100);
}

#define NAMES "\0first\0other"

/* A function in two tables. The names of the one that comes first are in a section of this type. */
static int open_made(uint32_t type)
{
	const uint64_t at = TINY_ELF_CONTENT(1), table_bytes = 2 * sizeof(Elf64_Sym);
	const Elf64_Shdr sections[] = {
		{.sh_type = SHT_NULL},
		{.sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		 .sh_addr = 0x1000,
		 .sh_size = 0x10},
		{.sh_type = SHT_SYMTAB,
		 .sh_offset = at + sizeof(NAMES),
		 .sh_size = table_bytes,
		 .sh_entsize = sizeof(Elf64_Sym),
		 .sh_link = 3},
		{.sh_type = type, .sh_offset = at, .sh_size = sizeof(NAMES)},
		{.sh_type = SHT_SYMTAB,
		 .sh_offset = at + sizeof(NAMES) + table_bytes,
		 .sh_size = table_bytes,
		 .sh_entsize = sizeof(Elf64_Sym),
		 .sh_link = 5},
		{.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(NAMES)},
	};
	struct buf file = {0};
	int fd;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_vaddr = 0x1000,
				      .p_filesz = 0x10,
				      .p_memsz = 0x10,
				      .p_align = 0x1000});
	buf_append(&file, NAMES, sizeof(NAMES));
	for (size_t i = 0; i < 2; i++) {
		const Elf64_Sym symbols[] = {
			{.st_name = 0},
			{.st_name = i ? sizeof("\0first") : 1,
			 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			 .st_shndx = 1,
			 .st_value = 0x1000,
			 .st_size = 0x10},
		};

		buf_append(&file, symbols, sizeof(symbols));
	}
	tiny_elf_sections(&file, sections, ARRAY_SIZE(sections));
	fd = tiny_elf_fd(&file);
	assert_true(fd >= 0);
	buf_release(&file);
	return fd;
}

/* Files that lie about where names are: libdwfl takes one of two tables. */
TEST(symbol_tables, of_made_files_have_the_names_that_libdwfl_has)
{
	static const uint32_t types[] = {SHT_STRTAB, SHT_NOBITS, SHT_PROGBITS};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct symbol_options options = {.sysroot = NULL};
		struct symbol_request request = {.path = "/nonexistent/made",
						 .fd = open_made(types[i]),
						 .tables_only = true};
		struct symbol_object object;
		struct symbol_tables tables;
		struct table_symbol found;
		GElf_Sym symbol;
		const char *name;

		assert_int_equal(symbol_object_open(&object, &options, &request, NULL), 0);
		symbol_tables_init(&tables, object.module);
		assert_int_equal(tables.nr, 2);
		name = dwfl_module_getsym(object.module, 1, &symbol, NULL);
		assert_string_equal(name, "other");
		assert_true(symbol_tables_get(&tables, 1, &found));
		assert_string_equal(found.name, name);
		symbol_object_close(&object);
		close(request.fd);
	}
}
