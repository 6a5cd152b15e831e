// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes over symbols from an earlier state of the same recording. */
#include "profile/adopt_symbols.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

static struct str_id adopt_text(struct profile *into, const struct profile *from, struct str_id id)
{
	return profile_intern(into, profile_str(from, id));
}

static struct location adopt_location(struct profile *into, const struct profile *from,
				      const struct location *location)
{
	struct function function = from->symbols.functions[location->function.v];

	function.name = adopt_text(into, from, function.name);
	function.linkage_name = adopt_text(into, from, function.linkage_name);
	function.file = adopt_text(into, from, function.file);
	return (struct location){.function = profile_intern_function(into, &function),
				 .file = adopt_text(into, from, location->file),
				 .line = location->line};
}

static void adopt_chain(struct profile *into, const struct profile *from, uint32_t frame)
{
	struct frame_symbols chain = from->symbols.frames[frame];
	struct location *locations = xcalloc(chain.nr, sizeof(*locations));

	for (uint32_t i = 0; i < chain.nr; i++)
		locations[i] =
			adopt_location(into, from, &from->symbols.locations[chain.first + i]);
	profile_set_chain(into, (struct frame_id){frame}, locations, chain.nr);
	free(locations);
}

void profile_adopt_symbols(struct profile *into, const struct profile *from)
{
	assert(from->symbols.nr_frames <= into->nr_frames);
	profile_reset_symbols(into);
	for (uint32_t i = 0; i < from->symbols.nr_frames; i++) {
		if (from->symbols.frames[i].nr)
			adopt_chain(into, from, i);
	}
	for (size_t i = 0; i < from->symbols.nr_modules && i < into->symbols.nr_modules; i++) {
		struct module_symbols row = from->symbols.modules[i];

		row.debug_path = adopt_text(into, from, row.debug_path);
		row.problem = adopt_text(into, from, row.problem);
		into->symbols.modules[i] = row;
	}
}
