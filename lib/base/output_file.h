/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_OUTPUT_FILE_H
#define PROFC_BASE_OUTPUT_FILE_H

#include <stdbool.h>

#include "base/sink.h"

struct err;

/*
 * A file that appears under its name only once it is complete: it is written to a temporary file,
 * without a name if the file system supports that, and renamed at the end, so that a failed,
 * interrupted or killed command leaves the former file. Anything but a regular file (/dev/null, a
 * FIFO) is written in place.
 */
struct output_file {
	struct sink sink;
	char *path;	 /* its final path, symbolic links resolved; owned */
	bool is_beside;	 /* written to a temporary file; else in place */
	bool is_new;	 /* no file had the name, or the one that had it keeps another */
	bool keeps_old;	 /* the file with that name at the end becomes NAME.old */
	char *temporary; /* its temporary name, NULL: none; owned */
};

/*
 * In a directory that others may write to, nothing is written through a symbolic link or over
 * another user's file; nor anywhere over a recording that is being written: output_place_check().
 * Only its owner can access a new file, whatever the umask: it has names, and perhaps sources, of
 * programs.
 */
int output_file_open(struct output_file *file, const char *path, struct err *err);
/* As output_file_open(), but the file with that name at the end is kept as NAME.old. */
int output_file_open_keeping(struct output_file *file, const char *path, struct err *err);
/* Flush, put in place and release; on failure the temporary file is gone. */
int output_file_finish(struct output_file *file, struct err *err);
/* Give up: no file appears. */
void output_file_discard(struct output_file *file);

#endif
