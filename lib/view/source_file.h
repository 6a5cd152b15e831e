/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and reads source files. */
#ifndef PROFC_VIEW_SOURCE_FILE_H
#define PROFC_VIEW_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct profile;

/* Texts "OLD=NEW", borrowed: a path that begins with OLD begins with NEW instead. */
struct source_maps {
	const char *const *texts;
	size_t nr;
};

/* The text of a source file, in lines. */
struct source_file_text {
	char *path;   /* its path, owned */
	char *bytes;  /* owned; line ends are NUL */
	char **lines; /* owned array into bytes; lines[i] is line i + 1 */
	size_t nr_lines, cap_lines;
	uint64_t nr_bytes;    /* of the file */
	uint64_t modified_ns; /* since the epoch */
	bool is_refused;      /* not read: the user that named it may not read it */
};

/*
 * Find and read the source that debug information calls `recorded`: first at the path that `maps`
 * give, then in the recording (profile may be NULL), at the path itself, at `named` (from the user,
 * or NULL), and below the current directory under ever shorter ends of the path. false if it is not
 * found. Only regular files of a sensible size. If the module or recording that names the file
 * belongs to another user than the caller and root, that user must be able to read it
 * (base/chosen_file.h), except for the paths of `maps`, which the user chose.
 */
bool source_file_read(const struct profile *profile, const char *recorded, const char *named,
		      const struct source_maps *maps, struct source_file_text *text);
/* Append all of its lines. */
void source_file_append(const struct source_file_text *text, struct buf *out);
void source_file_release(struct source_file_text *text);

/* By its name. */
bool source_is_python(const char *path);
/* The end of the function that begins in line `first` and has `last` as its last known line. */
uint32_t source_function_end(const struct source_file_text *text, uint32_t first, uint32_t last);

#endif
