/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code was written in some lines of a source file. */
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
 * Read "FILE:A-B" or "FILE:A". What does not end so is the name of a function: *path is NULL then.
 * Else it is the caller's, and the lines borrow it. Fails with ERR_INVALID if there are no such
 * lines (0, or B before A).
 */
int source_lines_read(struct source_lines *lines, char **path, const char *text, struct err *err);

/*
 * Set lines[i] to the line that the code at addresses[i] was written in, or to 0 if that is none
 * of the wanted ones or not known. Code of an inlined function was written where that function
 * is, not where it is called. One pass; the addresses are as symbol_file_resolve() takes them,
 * ascending and distinct. Returns how many were written there.
 */
size_t symbol_file_written_in(struct symbol_file *file, const struct source_lines *wanted,
			      const uint64_t *addresses, size_t nr, uint32_t *lines);

#endif
