// SPDX-License-Identifier: GPL-2.0-or-later
/* The owners that chose the paths of sources. */
#include "profile/source_owners.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strtab.h"
#include "profile/profile.h"

static void join(struct owner *owners, bool *is_named, struct str_id file, struct owner owner)
{
	owners[file.v] = is_named[file.v] ? owner_join(owners[file.v], owner) : owner;
	is_named[file.v] = true;
}

struct owner *profile_source_owners(const struct profile *profile)
{
	const struct profile_symbols *symbols = &profile->symbols;
	size_t nr = strtab_nr(profile->strings);
	struct owner *owners = xcalloc(nr, sizeof(*owners));
	bool *is_named = xcalloc(nr, sizeof(*is_named));

	for (size_t i = 0; i < symbols->nr_frames; i++) {
		const struct frame_symbols chain = symbols->frames[i];
		uint32_t module = profile->frames[i].where.module.v;
		struct owner owner =
			owner_join(profile->meta.owner, module < symbols->nr_modules
								? symbols->modules[module].owner
								: OWNER_NOT_RECORDED);

		for (uint32_t k = 0; k < chain.nr; k++) {
			const struct location *level = &symbols->locations[chain.first + k];

			join(owners, is_named, level->file, owner);
			join(owners, is_named, symbols->functions[level->function.v].file, owner);
		}
	}
	free(is_named);
	return owners;
}
