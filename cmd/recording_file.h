/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_FILE_H
#define PROFC_CMD_RECORDING_FILE_H

#include <stdbool.h>

struct err;

/* Where recordings go if nothing else is said. */
#define RECORDING_FILE_DEFAULT "profc.data"

/*
 * The file of a recording. It is written under its own name as the recording goes, so
 * that what is there can be read should profc be killed; a file that had the name
 * before is kept as NAME.old. It is locked meanwhile (output_place_occupy()), and can be read by
 * its owner only: it tells what others' processes may have done.
 */
struct recording_file {
	char *path;	  /* owned; NULL: standard output */
	char *old_path;	  /* owned; where what had the name is, NULL when nothing had */
	char *older_path; /* owned; where what was NAME.old is until the end, or NULL */
	char *empty_path; /* owned; the same of what had the name and no samples, or NULL */
	int fd;
	bool created;
};

/*
 * `path` NULL: the default. While another profc writes that, the name gets a number; a file that
 * was asked for is refused then (ERR_LIMIT), as are files of others and symbolic links in
 * directories that others may write to. By default nothing but a file is written.
 */
int recording_file_open(struct recording_file *file, const char *path, struct err *err);
/* For messages. */
const char *recording_file_name(const struct recording_file *file);
/* ERR_GONE: it is not there any more under its name, and what was recorded may be lost. */
int recording_file_check(const struct recording_file *file, struct err *err);
/*
 * A descriptor for reading the file itself, whatever has its name by then: others may write to its
 * directory. -1: it is none that can be read. The caller closes it.
 */
int recording_file_reopen(const struct recording_file *file);
/* Close and release. 0, or ERR_SYS when the last bytes could not be written. */
int recording_file_close(struct recording_file *file, struct err *err);
/* Nothing was recorded: everything is as it was before. */
void recording_file_discard(struct recording_file *file);

#endif
