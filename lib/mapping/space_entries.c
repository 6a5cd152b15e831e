// SPDX-License-Identifier: GPL-2.0-or-later
/* The arrays of mappings, which address spaces share from a fork until they change. */
#include <stdlib.h>

#include "base/alloc.h"
#include "mapping/space_priv.h"

void space_entries_release(struct entries *entries)
{
	if (entries->nr_others && *entries->nr_others) {
		--*entries->nr_others;
		*entries = (struct entries){0};
		return;
	}
	free(entries->nr_others);
	for (size_t i = 0; i < entries->nr; i++)
		free(entries->at[i].path);
	free(entries->at);
	*entries = (struct entries){0};
}

struct entries space_entries_share(struct entries *entries)
{
	if (!entries->nr_others)
		entries->nr_others = xcalloc(1, sizeof(*entries->nr_others));
	++*entries->nr_others;
	return *entries;
}

void space_own_entries(struct space *space)
{
	const struct entries shared = space->entries;
	struct entries own = {0};

	if (!shared.nr_others || !*shared.nr_others)
		return;
	ARRAY_RESERVE(own.at, shared.nr, own.cap);
	for (own.nr = 0; own.nr < shared.nr; own.nr++) {
		own.at[own.nr] = shared.at[own.nr];
		own.at[own.nr].path = xstrdup(shared.at[own.nr].path);
	}
	space_entries_release(&space->entries);
	space->entries = own;
}
