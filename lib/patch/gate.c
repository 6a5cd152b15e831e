// SPDX-License-Identifier: GPL-2.0-or-later
/* The ways out of a function. */
#include "patch/gate_priv.h"

#include <stdlib.h>

#include "code/plt_entry.h"

bool gate_has(const struct gate_search *search, uint64_t address)
{
	for (size_t i = 0; i < search->nr; i++) {
		if (address >= search->code[i].start && address < search->code[i].end)
			return true;
	}
	return false;
}

static bool is_stub(const struct gate_search *search, uint64_t address)
{
	uint8_t bytes[PLT_ENTRY_BYTES];

	return search->read(search->context, address, bytes, sizeof(bytes)) == sizeof(bytes) &&
	       plt_entry_word(bytes, sizeof(bytes), address);
}

bool gate_is_function(const struct gate_search *search, uint64_t address)
{
	for (size_t i = 0; i < search->nr_starts; i++) {
		if (search->starts[i] == address)
			return true;
	}
	return is_stub(search, address);
}

void gate_exits_release(struct gate_exits *exits)
{
	free(exits->at);
	*exits = (struct gate_exits){.nr = 0};
}
