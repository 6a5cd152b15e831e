// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps the text of source files in a profile. */
#include "view/kept_sources.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/source.h"
#include "profile/profile.h"
#include "view/source_file.h"

void kept_sources_find(struct kept_sources *kept, const struct weights *weights)
{
	struct source *source = source_new(weights);

	kept->files = xcalloc(source->nr_files, sizeof(*kept->files));
	for (size_t i = 0; i < source->nr_files; i++)
		if (source->files[i].nr_lines)
			kept->files[kept->nr++] = source->files[i].file;
	source_free(source);
}

static struct profile_source *find_row(struct profile *profile, struct str_id file)
{
	for (size_t i = 0; i < profile->symbols.nr_sources; i++)
		if (profile->symbols.sources[i].file.v == file.v)
			return &profile->symbols.sources[i];
	return NULL;
}

static void keep_text(struct profile *profile, struct str_id file,
		      const struct source_file_text *text)
{
	struct profile_source row = {
		.file = file, .nr_bytes = text->nr_bytes, .modified_ns = text->modified_ns};
	struct profile_source *known = find_row(profile, file);
	struct buf whole = {0};

	source_file_append(text, &whole);
	row.text = profile_intern(profile, buf_str(&whole));
	buf_release(&whole);
	if (known)
		*known = row;
	else
		profile_add_source(profile, &row);
}

void kept_sources_read(struct kept_sources *kept, struct profile *profile)
{
	const struct source_maps none = {0};
	size_t left_bytes = KEPT_SOURCES_MAX_BYTES;

	for (size_t i = 0; i < kept->nr; i++) {
		const char *path = profile_str(profile, kept->files[i]);
		struct source_file_text text = {0};

		if (!source_file_read(profile, path, NULL, &none, &text))
			continue;
		if (text.nr_bytes <= KEPT_SOURCE_MAX_BYTES && text.nr_bytes <= left_bytes) {
			keep_text(profile, kept->files[i], &text);
			left_bytes -= text.nr_bytes;
			kept->nr_kept++;
		} else {
			kept->nr_large++;
		}
		source_file_release(&text);
	}
}

void kept_sources_release(struct kept_sources *kept)
{
	free(kept->files);
	*kept = (struct kept_sources){0};
}
