// SPDX-License-Identifier: GPL-2.0-or-later
#include <gelf.h>
#include <string.h>

#include "base/err.h"
#include "symbol/object.h"
#include "symbol/symbol.h"
#include "symbol/symbol_tables.h"
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
