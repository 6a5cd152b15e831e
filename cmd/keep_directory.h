/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_KEEP_DIRECTORY_H
#define PROFC_CMD_KEEP_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

/* Where flight recorders write if nothing else is said. */
#define KEEP_DIRECTORY_DEFAULT "profc.dumps"

/* The directory of a flight recorder; its files are NAME.TIME.TRIGGER.data. */
struct keep_directory {
	char *path; /* owned, as is the name */
	char *name; /* of the program, as files have it; NULL: not known yet */
	size_t limit;
};

/* `path` NULL: the default. `command` is the program to be run, or NULL. */
void keep_directory_init(struct keep_directory *directory, const char *path, const char *command,
			 size_t limit);
void keep_directory_release(struct keep_directory *directory);
/* Make it, for its owner only, if there is none. ERR_INVALID: something else has the name. */
int keep_directory_make(const struct keep_directory *directory, struct err *err);
/* Where no command has given a name yet, take that of the first process. */
void keep_directory_name(struct keep_directory *directory, const struct profile *profile);
/* The path of a new file; the caller frees it. `word` may have any characters. */
char *keep_directory_path(const struct keep_directory *directory, uint64_t realtime_ns,
			  const char *word);
/*
 * Remove the oldest files of the same program, but not `newest`, as far as there are too many.
 * Those that seem to be more than an hour newer are of a clock that was wrong, and go first.
 */
void keep_directory_limit(const struct keep_directory *directory, const char *newest);

/* A profile of a directory. */
struct keep_file {
	char *path;	  /* owned; with the directory before its name */
	const char *name; /* in it */
	uint64_t written_ns, nr_bytes;
};

struct keep_files {
	struct keep_file *at; /* owned; the newest first */
	size_t nr, cap;
};

/*
 * All profiles of a directory, of any program; none if it cannot be read. Only regular files count,
 * of the caller, of root, or of the owner of the directory.
 */
void keep_files_read(struct keep_files *files, const char *path);
void keep_files_release(struct keep_files *files);
/* By its name, "cpu" or "control-slow"; "" if the name says none. The caller frees it. */
char *keep_file_trigger(const struct keep_file *file);
/* When it was triggered, or else written: "2026-11-29 12:00:00", UTC. The caller frees it. */
char *keep_file_time(const struct keep_file *file);

/*
 * The profile of this directory that was written last, of any program, with the directory before
 * its name; NULL: there is none. The caller frees it.
 */
char *keep_directory_newest(const char *path);

#endif
