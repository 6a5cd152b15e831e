// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads sources for profc annotate. */
#include "base/buf.h"
#include "cmd/annotate.h"
#include "cmd/command.h"
#include "view/source_check.h"
#include "view/source_file.h"

#define FILES_DEFAULT 3

size_t annotate_limit(const struct annotate_args *args)
{
	return args->limit == LIMIT_NOT_GIVEN ? FILES_DEFAULT : args->limit;
}

struct source_maps annotate_maps(const struct annotate_args *args)
{
	return (struct source_maps){.texts = args->source_paths.values,
				    .nr = args->source_paths.nr};
}

void annotate_read_source(const struct annotate_args *args, const struct profile *profile,
			  const char *recorded, const char *named, struct source_file_text *text)
{
	const struct source_maps maps = annotate_maps(args);

	source_file_read(profile, recorded, named, &maps, text);
}

void annotate_say_doubts(const struct source_check *check)
{
	struct buf note = {0}, warning = {0};

	source_check(check, &note, &warning);
	if (note.nr_bytes)
		print_note("%s", buf_str(&note));
	if (warning.nr_bytes)
		print_warning("%s", buf_str(&warning));
	buf_release(&note);
	buf_release(&warning);
}
