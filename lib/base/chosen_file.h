/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files at paths that a target, its files or a profile chose. The only place that does. */
#ifndef PROFC_BASE_CHOSEN_FILE_H
#define PROFC_BASE_CHOSEN_FILE_H

#include <stdbool.h>

#include "base/owner.h"

struct stat;

/*
 * Open a file that `chooser` named for reading. Only a regular file is ever opened, so that no FIFO
 * blocks and no device acts. For a chooser that is not trusted (owner_is_trusted()), that user must
 * be able to reach and read the file as its owner, or by the permissions of all users: each
 * directory on the way and the file is the chooser's own, or open to all. Links are followed if
 * they are root's or the caller's, and for a caller other than root also if the chooser is trusted.
 * Returns a descriptor, owned by the caller, and in `found`, unless NULL, the result of fstat(2);
 * or -1 with errno: EACCES if these rules forbid it, whether or not it exists.
 */
int chosen_file_open(const char *path, struct owner chooser, struct stat *found);
/* As above, only the file's status, without opening it. False: errno. */
bool chosen_file_find(const char *path, struct owner chooser, struct stat *found);

/*
 * As above below a directory that is the root of a process, for an absolute path without links that
 * the kernel gave. Never leaves that directory, and follows no link. The caller checks whether the
 * file may be read.
 */
int rooted_file_open(int root_fd, const char *path, struct stat *found);
/* As rooted_file_open(), but O_PATH, which cannot be read from. */
int rooted_file_find(int root_fd, const char *path, struct stat *found);
/*
 * A directory below such a root, as O_PATH. Links on the way are followed as the process would,
 * never out of its root; if the kernel has no openat2(2) (before Linux 5.6), none is followed.
 */
int rooted_directory_open(int root_fd, const char *path);

/*
 * Open a file by a link of /proc, such as /proc/PID/exe or an entry of /proc/PID/map_files, which
 * the kernel resolves to the very file. Regular ones only.
 */
int linked_file_open(const char *link, struct stat *found);
/* The entry of a directory, if it is a regular file and no link. */
int entry_file_open(int directory_fd, const char *name, struct stat *found);

#endif
