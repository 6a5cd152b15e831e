// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads sources for profc annotate. */
#include "base/buf.h"
#include "cmd/annotate.h"
#include "cmd/command.h"
#include "view/source_check.h"
#include "view/source_file.h"

void annotate_read_source(const struct annotate_args *args, const char *recorded, const char *named,
			  struct source_file_text *text)
{
	const struct source_maps maps = {.texts = args->source_paths.values,
					 .nr = args->source_paths.nr};

	source_file_read(recorded, named, &maps, text);
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
