/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files of file systems that a program serves. */
#ifndef PROFC_BASE_SERVED_FILE_H
#define PROFC_BASE_SERVED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

/*
 * Files may lie in a file system that need not answer (FUSE): to look for a name there, to
 * open or to read may then wait without an end, and no signal ends that wait. So an errand
 * (base/errand.h) does it, for a few seconds. The errno of a wait in vain is ETIMEDOUT.
 */

/* fstat(2) with what the kernel knows already: asks no file system. */
int served_file_stat(int fd, struct stat *found);
/* Is a file, or directory, of such a file system? `fd` may be one of O_PATH. */
bool served_file_is(int fd);
/*
 * openat(2) with O_PATH and these flags, and openat2(2)'s RESOLVE_... flags. The path is one name
 * that is not followed, or is opened without magic links: an errand has another /proc/self. If
 * these are not 0, and the kernel has no such call, or a filter denies it, -1 with ENOSYS or EPERM.
 */
int served_path_open(int directory_fd, const char *path, int flags, uint64_t resolve);
/*
 * Opens the regular file of an O_PATH descriptor for reading, and stores its status. A file that is
 * served is copied whole, if it is not too large (EFBIG): the descriptor is of a copy in memory,
 * with the same size, time, owner and rights.
 */
int served_file_open(int path_fd, struct stat *found);

#endif
