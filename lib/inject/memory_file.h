/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MEMORY_FILE_H
#define PROFC_INJECT_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define FILE_PIECES_MAX 32

/*
 * A file in memory that a process has made for us (memfd_create(2)), taken over by its descriptor.
 * The process, and all that share its descriptors, may replace it by another file at any moment,
 * even by one that only we may write to, and they keep theirs: so no property of it is believed.
 */

/*
 * Take a copy of the descriptor `fd` of a process. One of our threads traces the process, so `pid`
 * cannot be another one. We write to the file only once it is proved to be a new one in memory: on
 * the kernel's own tmpfs, without a link, empty, with this name and without a seal. Then it gets
 * `nr_bytes`, sparse, and seals: its size never changes, so that it can be read and written
 * wherever it is mapped, whatever the process does. The caller owns *file.
 *
 * ERR_UNSUPPORTED: the kernel has no pidfd_getfd(2) (Linux 5.6), or refuses it; ERR_CORRUPT: it is
 * another file, which is unchanged.
 */
int memory_file_take(int *file, pid_t pid, int64_t fd, const char *name, uint64_t nr_bytes,
		     struct err *err);
/* Bytes of a file, one piece after the other. */
struct file_pieces {
	struct file_piece {
		const uint8_t *bytes; /* borrowed; NULL: zeros */
		size_t nr_bytes;
		bool is_left; /* it is never used, and may hold anything */
	} at[FILE_PIECES_MAX];
	size_t nr;
	uint64_t nr_bytes; /* of all */
};

/* Add a piece at this offset, and zeros before it. */
void file_pieces_add(struct file_pieces *pieces, uint64_t offset, const void *bytes,
		     size_t nr_bytes);

/* Add a piece up to this offset that is neither written nor looked at. */
void file_pieces_leave(struct file_pieces *pieces, uint64_t offset);

/*
 * Take the file likewise, fill it with these bytes, and seal it against writing. No process can
 * change it then: the kernel refuses the seal while any writable shared mapping exists.
 */
int memory_file_take_filled(int *file, pid_t pid, int64_t fd, const char *name,
			    const struct file_pieces *pieces, struct err *err);

#endif
