// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes over symbols from an earlier state of the same recording. */
#include "profile/adopt_symbols.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/renumber.h"

static struct location adopt_location(struct profile *into, const struct profile *from,
				      struct location location)
{
	struct function function = from->symbols.functions[location.function.v];

	renumber_texts(into, from, RECORD_FUNCTIONS, &function);
	renumber_texts(into, from, RECORD_LOCATIONS, &location);
	location.function = profile_intern_function(into, &function);
	return location;
}

static void adopt_chain(struct profile *into, const struct profile *from, uint32_t frame)
{
	struct frame_symbols chain = from->symbols.frames[frame];
	struct location *locations = xcalloc(chain.nr, sizeof(*locations));

	for (uint32_t i = 0; i < chain.nr; i++)
		locations[i] = adopt_location(into, from, from->symbols.locations[chain.first + i]);
	profile_set_chain(into, (struct frame_id){frame}, locations, chain.nr);
	free(locations);
}

void profile_adopt_symbols(struct profile *into, const struct profile *from)
{
	assert(from->symbols.nr_frames <= into->nr_frames);
	profile_reset_symbols(into);
	into->symbols.nr_asked = from->symbols.nr_asked;
	for (uint32_t i = 0; i < from->symbols.nr_frames; i++) {
		if (from->symbols.frames[i].nr)
			adopt_chain(into, from, i);
	}
	for (size_t i = 0; i < from->symbols.nr_modules && i < into->symbols.nr_modules; i++) {
		struct module_symbols row = from->symbols.modules[i];

		renumber_texts(into, from, RECORD_MODULE_SYMBOLS, &row);
		into->symbols.modules[i] = row;
	}
}
