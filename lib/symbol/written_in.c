// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/written_in.h"

#include <stdbool.h>

#include "base/source_path.h"
#include "symbol/symbol.h"

/* Neighbours are mostly of one file, whose path is one text of the result. */
struct known_path {
	const char *path;
	bool is_wanted;
};

static bool is_wanted(const struct source_lines *wanted, const struct symbol_location *location,
		      struct known_path *last)
{
	if (!location->file || location->line < wanted->first || location->line > wanted->last)
		return false;
	if (location->file != last->path)
		*last = (struct known_path){
			.path = location->file,
			.is_wanted = source_path_matches(location->file, wanted->path),
		};
	return last->is_wanted;
}

size_t symbol_file_written_in(struct symbol_file *file, const struct source_lines *wanted,
			      const uint64_t *addresses, size_t nr, uint32_t *lines)
{
	struct symbol_result *result = symbol_file_resolve(file, addresses, nr);
	struct known_path last = {.path = NULL};
	size_t nr_written = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct symbol_chain *chain = &result->chains[i];
		const struct symbol_location *innermost =
			chain->nr ? &result->locations[chain->first] : NULL;

		lines[i] = innermost && innermost->line && is_wanted(wanted, innermost, &last)
				   ? innermost->line
				   : 0;
		nr_written += lines[i] != 0;
	}
	symbol_result_free(result);
	return nr_written;
}
