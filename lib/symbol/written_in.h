/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds code that was written in given lines of a source file. */
#ifndef PROFC_SYMBOL_WRITTEN_IN_H
#define PROFC_SYMBOL_WRITTEN_IN_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct symbol_file;

/* Lines first … last of the files that source_path.h matches with the path. */
struct source_lines {
	const char *path;
	uint32_t first, last;
};

/*
 * Parse "FILE:A-B" or "FILE:A". Any other text is the name of a function: *path is NULL then. Else
 * *path is the caller's to free, and the lines borrow it. Fails with ERR_INVALID if there are no
 * such lines (0, or B before A).
 */
int source_lines_read(struct source_lines *lines, char **path, const char *text, struct err *err);

/*
 * Set lines[i] to the source line of the code at addresses[i], or to 0 if it is not wanted or not
 * known. The line of inlined code is in the inlined function, not at its call. One pass; addresses
 * are as for symbol_file_resolve(), ascending and distinct. Returns the number of wanted lines
 * found.
 */
size_t symbol_file_written_in(struct symbol_file *file, const struct source_lines *wanted,
			      const uint64_t *addresses, size_t nr, uint32_t *lines);

#endif
