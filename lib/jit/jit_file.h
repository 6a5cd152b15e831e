/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a file that grows, or is rewritten, while it is read. */
#ifndef PROFC_JIT_JIT_FILE_H
#define PROFC_JIT_JIT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct buf;
struct err;

/* Requirements for trusting a file. */
struct jit_file_rules {
	const char *path; /* for messages; borrowed */
	uid_t owner;	  /* of the file: the user of the process */
	/*
	 * When the program began, in ns since the epoch: older files are of another program. 0: not
	 * known.
	 */
	uint64_t started_realtime_ns;
};

/* Larger ones are refused: node writes some 20 MB a day of work. */
#define JIT_FILE_MAX_BYTES (UINT64_C(512) << 20)

/* Bytes already read that are compared to detect whether the file was rewritten. */
#define JIT_FILE_MARK_BYTES 1024

struct jit_file {
	int fd;		 /* owned, or the caller's; -1: there is none */
	uint64_t offset; /* everything before it was taken */
	uint64_t nr_bytes;
	struct timespec written;
	uint8_t head[JIT_FILE_MARK_BYTES], tail[JIT_FILE_MARK_BYTES];
	size_t nr_head, nr_tail;
};

#define JIT_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Take a descriptor over. Fails with the reason if the file is not to be trusted; the descriptor
 * stays open. */
int jit_file_begin(struct jit_file *file, int fd, const struct jit_file_rules *rules,
		   struct err *err);
void jit_file_close(struct jit_file *file);

enum jit_change {
	JIT_FILE_SAME,
	JIT_FILE_GROWN,	    /* there is more after `offset` */
	JIT_FILE_REWRITTEN, /* read it again from the start; `offset` is 0 */
};

/* Find how the file has changed since the last time. */
int jit_file_check(struct jit_file *file, const struct jit_file_rules *rules,
		   enum jit_change *change, struct err *err);
/* Read up to nr_bytes from `offset` on; bytes that are not taken are read again. */
int jit_file_read(struct jit_file *file, struct buf *out, size_t nr_bytes);
void jit_file_take(struct jit_file *file, uint64_t nr_bytes);

#endif
