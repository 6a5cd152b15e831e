// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers completions of shells. */
#include "cmd/complete.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/search_path.h"
#include "completion/complete.h"

/* Behind what is there. Returns how many there are then. */
static size_t add_rows(const struct option_row *rows, struct completion_option **options, size_t nr)
{
	for (; rows->name; rows++) {
		if (rows->type == OPTION_SECTION || rows->hidden)
			continue;
		*options = xrealloc_array(*options, nr + 1, sizeof(**options));
		(*options)[nr++] = (struct completion_option){
			.letter = rows->short_name,
			.name = rows->name,
			.argument = rows->type == OPTION_FLAG ? NULL : rows->argument,
			.choices = rows->choices,
			.help = rows->help,
			.is_optional = rows->without,
			.is_file = rows->type == OPTION_FILE,
			.is_list = rows->commas,
		};
	}
	return nr;
}

static struct completion_line line_of(int nr_words, char **words)
{
	struct completion_line line = {
		.words = words, .nr = nr_words, .directories = search_directories()};
	unsigned long nr;
	char *end;

	if (nr_words < 2)
		return line;
	errno = 0;
	nr = strtoul(words[0], &end, 10);
	if (errno || *end || end == words[0] || nr >= (unsigned long)nr_words)
		return line;
	line.words++;
	line.nr = (int)nr;
	line.nr_after = nr_words - 1 - (int)nr;
	return line;
}

void complete(const struct command *const *commands, int nr_words, char **words, struct buf *out)
{
	const struct completion_line line = line_of(nr_words, words);
	struct completion_command *known = NULL;
	size_t nr = 0;

	for (; commands[nr]; nr++) {
		struct completion_option *options = NULL;
		size_t nr_options = add_rows(commands[nr]->options, &options, 0);

		known = xrealloc_array(known, nr + 1, sizeof(*known));
		known[nr] = (struct completion_command){
			.name = commands[nr]->name,
			.summary = commands[nr]->summary,
			.nr_options = add_rows(options_common, &options, nr_options),
			.runs_command = commands[nr]->runs_command,
		};
		known[nr].options = options;
	}
	complete_words(known, nr, &line, out);
	while (nr > 0)
		free((void *)(uintptr_t)known[--nr].options);
	free(known);
}
