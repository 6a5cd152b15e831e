// SPDX-License-Identifier: GPL-2.0-or-later
/* Records size and modification time of source files. */
#include "symbol/source_note.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "profile/source_owners.h"

static void note(struct profile *profile, const struct owner *owners, struct str_id file,
		 bool *is_noted)
{
	const char *path = profile_str(profile, file);
	struct stat found;

	if (is_noted[file.v] || *path != '/')
		return;
	is_noted[file.v] = true;
	if (chosen_file_find(path, owners[file.v], &found)) {
		const struct profile_source row = {
			.file = file,
			.nr_bytes = (uint64_t)found.st_size,
			.modified_ns = (uint64_t)found.st_mtim.tv_sec * NS_PER_SEC +
				       (uint64_t)found.st_mtim.tv_nsec,
		};

		profile_add_source(profile, &row);
	}
}

void source_note_all(struct profile *profile)
{
	bool *is_noted = xcalloc(strtab_nr(profile->strings), sizeof(*is_noted));
	struct owner *owners = profile_source_owners(profile);

	for (size_t i = 0; i < profile->symbols.nr_sources; i++)
		is_noted[profile->symbols.sources[i].file.v] = true;
	for (size_t i = 0; i < profile->symbols.nr_locations; i++)
		note(profile, owners, profile->symbols.locations[i].file, is_noted);
	for (size_t i = 0; i < profile->symbols.nr_functions; i++)
		note(profile, owners, profile->symbols.functions[i].file, is_noted);
	free(owners);
	free(is_noted);
}
