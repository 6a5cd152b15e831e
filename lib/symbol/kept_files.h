/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_KEPT_FILES_H
#define PROFC_SYMBOL_KEPT_FILES_H

#include <stdint.h>

struct symbol_file;
struct symbol_options;
struct symbol_request;

/*
 * Files that were opened for a search, and stay open with their tables: to read these takes most of
 * the time of a search, and the resolution at the end of the recording, or the next one, needs the
 * same. So many are kept as kept_files.c says. Any thread may call.
 */
struct kept_files;

/* So much memory is held for all files: for tables, and what was inflated. */
struct kept_files *kept_files_new(uint64_t max_bytes);
/* Closes all that were not taken. May be NULL. */
void kept_files_free(struct kept_files *kept);

/*
 * Give a file away, after the last use: it is kept, or closed if that is not worth its memory. All
 * that the options of the file point to is borrowed until it is taken, or `kept` is freed. `kept`
 * may be NULL: it is closed.
 */
void kept_files_give(struct kept_files *kept, struct symbol_file *file);
/*
 * Take out the file that a request is for: it is the caller's, and as symbol_file_open() with these
 * options would have opened it now. NULL: none is known to be the same. `kept` may be NULL.
 */
struct symbol_file *kept_files_take(struct kept_files *kept, const struct symbol_options *options,
				    const struct symbol_request *request);

#endif
