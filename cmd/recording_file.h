/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_FILE_H
#define PROFC_CMD_RECORDING_FILE_H

#include <stdbool.h>

struct err;

/*
 * The file of a recording. It is written under its own name as the recording goes, so
 * that what is there can be read should profc be killed; a file that had the name
 * before is kept as NAME.old.
 */
struct recording_file {
	char *path;	  /* owned; NULL: standard output */
	char *old_path;	  /* owned; NULL when nothing had the name */
	char *older_path; /* owned; where what was NAME.old is until recording_file_settle(), or
			     NULL */
	int fd;
	bool created;
};

int recording_file_open(struct recording_file *file, const char *path, struct err *err);
/* It is being recorded: what was NAME.old before is not needed any more. */
void recording_file_settle(struct recording_file *file);
/* For messages. */
const char *recording_file_name(const struct recording_file *file);
/* Close and release. 0, or ERR_SYS when the last bytes could not be written. */
int recording_file_close(struct recording_file *file, struct err *err);
/* Nothing was recorded: everything is as it was before. */
void recording_file_discard(struct recording_file *file);

#endif
