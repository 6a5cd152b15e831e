/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MEMORY_FILE_H
#define PROFC_INJECT_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * A file of memory that a process has made for us (memfd_create(2)), taken over by descriptor. The
 * process, and all that share its descriptors, may put another file in its place at any moment,
 * also one that only we may write to, and they keep theirs: so nothing is believed that it says.
 */

/*
 * Take a copy of the descriptor `fd` of a process that one of our threads traces, so that `pid` is
 * it and no other. The file is written to only once it is proved to be one of memory that is new:
 * on the kernel's own tmpfs, without a link, empty, with this name and without a seal. Then it has
 * `nr_bytes`, sparse, for good: neither it nor its size can be changed by anybody, so that it can
 * be read and written wherever it is mapped, whatever the process does. *file is the caller's.
 *
 * ERR_UNSUPPORTED: the kernel has no pidfd_getfd(2) (Linux 5.6), or refuses it; ERR_CORRUPT: it is
 * another file, which is as it was.
 */
int memory_file_take(int *file, pid_t pid, int64_t fd, const char *name, uint64_t nr_bytes,
		     struct err *err);
/*
 * Take the file likewise, fill it with these bytes, and seal it against writing. No process can
 * change it then: the kernel refuses the seal while any writable shared mapping exists.
 */
int memory_file_take_filled(int *file, pid_t pid, int64_t fd, const char *name,
			    const uint8_t *bytes, size_t nr_bytes, struct err *err);

#endif
