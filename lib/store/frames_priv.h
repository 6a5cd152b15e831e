/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The zstd frames of a profile, written and read. */
#ifndef PROFC_STORE_FRAMES_PRIV_H
#define PROFC_STORE_FRAMES_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/columns_priv.h"

struct err;
struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* Gathers records and writes them as zstd frames with content size and checksum. */
struct frames_out {
	int fd; /* borrowed */
	struct ZSTD_CCtx_s *zstd;
	struct buf content; /* of the frame being gathered */
	size_t *breaks;	    /* offsets in content where new zstd blocks begin; owned */
	size_t nr_breaks, cap_breaks;
	struct buf compressed;
	uint64_t nr_bytes_written;
};

int frames_out_init(struct frames_out *out, int fd, struct err *err);
void frames_out_release(struct frames_out *out);
/* The skippable frame that makes the file a profile. */
int frames_out_header(struct frames_out *out, struct err *err);
/* Append a record; a frame that has become large is written. */
int frames_out_record(struct frames_out *out, enum record_type type,
		      const struct columns_out *columns, struct err *err);
/* Write the gathered records as a frame, if there are any. */
int frames_out_flush(struct frames_out *out, struct err *err);

/* Reads a file frame by frame, checking sizes and checksums. */
struct frames_in {
	int fd; /* borrowed */
	struct ZSTD_DCtx_s *zstd;
	struct buf content; /* of the frame read last */
	uint8_t *chunk;	    /* owned; read but not decoded: chunk[at … nr_bytes - 1] */
	size_t at, nr_bytes;
	uint64_t nr_bytes_used;	 /* of the file, in the header and the accepted frames */
	uint64_t nr_bytes_taken; /* of the file, decoded so far */
	uint64_t nr_content_bytes;
	uint64_t nr_bytes_to_read; /* of the file, and not more */
};

/* At most nr_bytes of the file are read, as if it ended there. */
int frames_in_init(struct frames_in *in, int fd, uint64_t nr_bytes, struct err *err);
void frames_in_release(struct frames_in *in);
/* Check magic and version. */
int frames_in_header(struct frames_in *in, struct err *err);
/*
 * Decode the next frame into in->content. *end is set when the file is over
 * instead. ERR_TRUNCATED: it ends inside a frame; ERR_CORRUPT: it is damaged.
 */
int frames_in_next(struct frames_in *in, bool *end, struct err *err);
/* The content was good: the next frame begins after this one. */
void frames_in_accept(struct frames_in *in);
/* The number of bytes after the last accepted frame; reads to the end. */
uint64_t frames_in_nr_bytes_left(struct frames_in *in);

#endif
