// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of debug information on any bytes: each section in the order of
 * enum dwarf_section, its length in 4 bytes before it. What is missing is empty.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "dwarf/dwarf_inventory.h"
#include "symbol/builder.h"
#include "symbol/dwarf_resolve.h"
#include "symbol/inlined_copies.h"
#include "symbol/split_dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define NR_ADDRESSES 512

static void take_sections(const uint8_t *bytes, size_t nr_bytes,
			  struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	struct cursor cursor = cursor_over(bytes, nr_bytes);

	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		uint32_t nr = cursor_u32(&cursor);

		sections[i] = (struct dwarf_bytes){.at = cursor_bytes(&cursor, nr), .nr = nr};
		if (!sections[i].at)
			sections[i].nr = 0;
	}
}

static struct dwarf_unit *code_of(void *split, struct dwarf_unit *unit)
{
	return split_dwarf_unit(split, unit);
}

static void take_inventory(struct dwarf_file *file, struct split_dwarf *split)
{
	struct dwarf_inventory inventory = {.nr_origins = 0};
	struct inlined_copies copies = {.nr = 0};

	dwarf_inventory_read(&inventory, file, code_of, split);
	inlined_copies_count(&copies, &inventory);
	for (size_t i = 0; i < inventory.nr_definitions; i++)
		inlined_copies_of(&copies, &inventory, inventory.definitions[i].origin);
	inlined_copies_release(&copies);
	dwarf_inventory_release(&inventory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	const struct symbol_options options = {.verbatim = false};
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct result_builder builder;
	uint64_t addresses[NR_ADDRESSES];
	struct split_dwarf split;
	struct dwarf_file file;

	take_sections(bytes, nr_bytes, sections);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		addresses[i] = i;
	dwarf_file_init(&file, sections);
	file.relocatable = true; /* the corpus is of object files: code begins at 0 */
	file.supplement = &file; /* as wrong as can be, and must not matter */
	dwarf_file_read_roots(&file);
	split_dwarf_init(&split, &options, "/nonexistent/program", owner_caller());
	result_builder_init(&builder, NR_ADDRESSES);
	dwarf_resolve(&file, &split, addresses, NR_ADDRESSES, &builder);
	symbol_result_free(result_builder_finish(&builder));
	take_inventory(&file, &split);
	split_dwarf_release(&split);
	dwarf_file_release(&file);
	return 0;
}
