/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the files that output would replace. */
#ifndef PROFC_BASE_OUTPUT_PLACE_H
#define PROFC_BASE_OUTPUT_PLACE_H

#include <stdbool.h>

struct err;

/* Files that output must not overwrite, or be written through. */

/*
 * Mark a file as a recording being written, until all copies of `fd`, which is open for writing,
 * are closed. The mark is a lock on one byte that no other program uses.
 */
void output_place_occupy(int fd);
/* Is it marked so? False also if that cannot be determined. */
bool output_place_is_busy(const char *path);

/*
 * ERR_PERMISSION: others may write to the directory of `path`, and the file there is a symbolic
 * link or belongs to another user, unless it is a file in that user's own directory, where another
 * file takes its place. ERR_LIMIT: a recording is being written to it. 0: it may be written, or is
 * not there.
 */
int output_place_check(const char *path, struct err *err);
/*
 * ERR_PERMISSION: this directory, which files are to be written to and removed from, is in one that
 * others may write to, such as /tmp, and is another user's or a symbolic link. 0 if there is none.
 */
int output_place_check_directory(const char *path, struct err *err);
/*
 * Open for writing a file that is not regular, such as /dev/null or a FIFO, which may block; never
 * through a link that others may have made. A descriptor, or a failure.
 */
int output_place_open(const char *path, struct err *err);
/* O_NOFOLLOW in a directory that others may write to, else 0. */
int output_place_flags(const char *path);

#endif
