// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/written_in.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/source_path.h"
#include "symbol/symbol.h"

/* Read digits; a number larger than any line stays larger. False if there are none. */
static bool read_number(const char **at, uint64_t *number)
{
	const char *start = *at;

	*number = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		*number = *number * 10 + (uint64_t)(**at - '0');
		if (*number > UINT32_MAX)
			*number = UINT64_MAX / 10 - 1; /* so that it never overflows */
	}
	return *at > start;
}

int source_lines_read(struct source_lines *lines, char **path, const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':'), *at = colon ? colon + 1 : text;
	uint64_t first, last;
	bool is_range = colon && colon > text && read_number(&at, &first);

	last = is_range ? first : 0;
	if (is_range && *at == '-') {
		at++;
		is_range = read_number(&at, &last);
	}
	if (!is_range || *at) {
		*path = NULL;
		return 0;
	}
	if (!first || last < first || last > UINT32_MAX)
		return err_set(err, ERR_INVALID,
			       "'%s': lines are counted from 1, and the second is not before "
			       "the first",
			       text);
	*path = xstrndup(text, (size_t)(colon - text));
	*lines = (struct source_lines){
		.path = *path, .first = (uint32_t)first, .last = (uint32_t)last};
	return 0;
}

/* Adjacent code is mostly in one file, and its path is a single text of the result. */
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
