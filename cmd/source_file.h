/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads source files, and matches their paths. */
#ifndef PROFC_CMD_SOURCE_FILE_H
#define PROFC_CMD_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options.h"

/* The text of a source file, in lines. */
struct source_file_text {
	char *path;   /* where it was found, owned */
	char *bytes;  /* owned; line ends are NUL */
	char **lines; /* owned array into bytes; lines[i] is line i + 1 */
	size_t nr_lines, cap_lines;
	uint64_t nr_bytes;    /* of the file */
	uint64_t modified_ns; /* since the epoch */
};

/*
 * Find and read the source that debug information calls `recorded`: under what
 * `maps` (OLD=NEW) make of it, then at the path itself, at `named` (what the user
 * gave, or NULL), and below the current directory under ever shorter ends of the
 * path. false if it is not found. Only regular files of a sensible size.
 */
bool source_file_read(const char *recorded, const char *named, const struct option_list *maps,
		      struct source_file_text *text);
void source_file_release(struct source_file_text *text);

/* Is one path the other, or its end from a '/' on, after removal of "." and ".."? */
bool source_path_matches(const char *recorded, const char *named);

/* The end of the function that begins in line `first` and whose last known line is `last`. */
uint32_t source_function_end(const struct source_file_text *text, uint32_t first, uint32_t last);

#endif
