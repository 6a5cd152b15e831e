// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go's table of functions on any bytes. The corpus was made by hand: two functions
 * from 0x10 on, of 16 bytes each, in the layouts of Go 1.16, 1.18 and 1.20.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "symbol/gopclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void check(const struct gopclntab *table, uint64_t address)
{
	struct go_place place;

	if (!gopclntab_find(table, address, &place))
		return;
	assert(place.function && strlen(place.function) < table->bytes.nr);
	assert(!place.file || strlen(place.file) < table->bytes.nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	const struct dwarf_bytes section = {.at = bytes, .nr = nr_bytes};
	struct gopclntab table;

	gopclntab_init(&table, section, 0x1000);
	for (uint64_t address = 0; address < 64; address++) {
		check(&table, address);
		check(&table, table.text_start + address);
	}
	check(&table, UINT64_MAX);
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t start;

		if (gopclntab_start(&table, i, &start))
			check(&table, start);
	}
	return 0;
}
